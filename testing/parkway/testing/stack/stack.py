"""Topics, a router and workers for an agent, and a test's view of them: what goes in, what comes out."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient

from parkway.agents import Agent
from parkway.agents.build import build_plan
from parkway.agents.load import load_agent
from parkway.runtime.clients import admin_client, plain_producer
from parkway.runtime.settings import Settings
from parkway.runtime.topology import apply_topics
from parkway.schemas.event import Event
from parkway.schemas.headers import CONTENT_TYPE, JSON_CONTENT
from parkway.schemas.io_events import OutputEvent
from parkway.testing.stack.processes import Process, stop
from parkway.testing.stack.results import Dead, Result, Results

_SECONDS: Final = 30.0
_DELIVERY_SECONDS: Final = 30.0
_TAKE: Final = 0.1
# A killed process's partitions are served again after the shortest time that brokers allow by default.
_ENVIRONMENT: Final = {
    "PARKWAY_SESSION_TIMEOUT": "6",
    "PARKWAY_TRANSACTION_TIMEOUT": "10",
    "PARKWAY_DRAIN": "5",
    "PARKWAY_LOG_FORMAT": "console",
    "PARKWAY_CAPTURE_CONTENT": "true",
}


class StackError(AssertionError):
    """What a test waited for did not come; the message says what came instead."""


class Stack:
    """A running installation of one agent. Made by `open_stack`, or by the fixture `parkway_stack`.

    A process that ends with 1 while a test waits is started again, as an orchestrator does. Belongs to one thread.
    """

    def __init__(
        self,
        settings: Settings,
        agent: str,
        folder: Path,
        *,
        partitions: int,
        workers: int,
        environment: Mapping[str, str],
    ) -> None:
        self.settings = settings
        self.plan = build_plan(load_agent(agent), agent)
        self._admin: AdminClient = admin_client(settings, f"{settings.namespace}.test")
        apply_topics(self._admin, settings.bootstrap_servers, settings.topics, self.plan, partitions)
        plan_file = folder / "plan.json"
        plan_file.write_bytes(self.plan.to_json())
        self._results = Results(settings, partitions)
        self._producer: Producer = plain_producer(settings, f"{settings.namespace}.test")
        self._origins: dict[str, str] = {}  # id of an event that was sent -> its topic/partition/offset
        common = {
            **_ENVIRONMENT,
            "PARKWAY_BOOTSTRAP_SERVERS": settings.bootstrap_servers,
            "PARKWAY_NAMESPACE": settings.namespace,
            **environment,
        }
        self.router = Process("router-0", ["router", "--plan", str(plan_file)], common, folder)
        self.workers = [Process(f"worker-{number}", ["worker", agent], common, folder) for number in range(workers)]

    def start(self) -> None:
        """Start all processes, without waiting: what is sent before they are ready is not lost."""
        for process in self._processes:
            process.start()

    def stop(self) -> None:
        """Stop all processes in order, and delete the topics."""
        stop(self._processes)
        self._results.close()
        with suppress(KafkaException):  # a broker that the test has taken down: its topics are gone with it
            self._delete_topics()
        # Clients that outlive their broker can hang when they are destroyed.
        del self._admin, self._producer

    @property
    def bootstrap_servers(self) -> str:
        return self.settings.bootstrap_servers

    @property
    def namespace(self) -> str:
        return self.settings.namespace

    def send(
        self,
        event: str | Event,
        attributes: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> str:
        """Write an event to `<ns>.requests`, as a producer does, and return its id once Kafka has it.

        Args:
            event: its type, or an event, such as a `ChatRequestEvent`.
            attributes: of an event that is given by its type.
            key: the record's key. Events of one key are handled in order.
            headers: of the record, such as `parkway-deadline`.

        """
        made = Event(type=event, attributes=dict(attributes or {})) if isinstance(event, str) else event
        failures: list[str] = []

        def on_delivery(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                failures.append(error.str())
            self._origins[made.id] = f"{message.topic()}/{message.partition()}/{message.offset()}"

        self._producer.produce(
            self.settings.topics.requests,
            made.to_json(),
            key,
            headers={**(headers or {}), CONTENT_TYPE: JSON_CONTENT},
            on_delivery=on_delivery,
        )
        if self._producer.flush(_DELIVERY_SECONDS) or failures:
            raise StackError(f"Kafka did not take the event: {failures[0] if failures else 'no answer in time'}")
        return made.id

    def output_of(self, event_id: str, seconds: float = _SECONDS) -> Any:
        """What the agent gives to `ctx.output` because of this event: the first one, waited for.

        Raises: StackError when none comes within `seconds`, and at once when the event ends in the DLQ or a
            process ends with 2 (or with 1 again and again).
        """
        return self.outputs_of(event_id, 1, seconds)[0]

    def outputs_of(self, event_id: str, count: int, seconds: float = _SECONDS) -> list[Any]:
        """Wait for `count` outputs of this event. Raises StackError as `output_of` does."""

        def found() -> list[Any]:
            caused = (one.event for one in self._results.outputs if one.caused_by == event_id)
            return [event.output for event in caused if isinstance(event, OutputEvent)]

        self._wait(f"{count} outputs of {event_id}", event_id, lambda: len(found()) >= count, seconds)
        return found()

    def response_to(self, request_id: str, seconds: float = _SECONDS) -> Event:
        """The response to a request from outside (a chat, a decision), waited for. Raises StackError."""

        def found() -> list[Event]:
            return [
                one.event
                for one in self._results.outputs
                if one.event.attributes.get("request_id") == request_id and not isinstance(one.event, OutputEvent)
            ]

        self._wait(f"the response to {request_id}", request_id, lambda: bool(found()), seconds)
        return found()[0]

    def dead_of(self, event_id: str, seconds: float = _SECONDS) -> Dead:
        """Why this event is in the DLQ, waited for. Raises StackError when it does not come there."""
        self._wait(f"{event_id} in the DLQ", None, lambda: self._find_dead(event_id) is not None, seconds)
        found = self._find_dead(event_id)
        assert found is not None
        return found

    def outputs(self) -> list[Result]:
        """Every record that outputs held when it was last looked at, in the order of each partition."""
        self._results.take(_TAKE)
        return list(self._results.outputs)

    def dead(self) -> list[Dead]:
        """Every record that the DLQ held when it was last looked at."""
        self._results.take(_TAKE)
        return list(self._results.dead)

    def kill_worker(self, number: int = 0) -> None:
        """SIGKILL one worker and start it again under its name, as an orchestrator does."""
        self.workers[number].kill()
        self.workers[number].start()

    def logs(self) -> str:
        """The ends of all processes' logs."""
        return "\n\n".join(process.log_end() for process in self._processes)

    @property
    def _processes(self) -> list[Process]:
        return [self.router, *self.workers]

    def _delete_topics(self) -> None:
        prefix = f"{self.settings.namespace}."
        ours = [name for name in self._admin.list_topics(timeout=10.0).topics if name.startswith(prefix)]
        for deleted in self._admin.delete_topics(ours, request_timeout=20.0).values():
            deleted.result()

    def _find_dead(self, event_id: str) -> Dead | None:
        origin = self._origins.get(event_id)
        return next((one for one in self._results.dead if event_id == one.caused_by or origin == one.origin), None)

    def _wait(self, what: str, event_id: str | None, condition: Callable[[], bool], seconds: float) -> None:
        give_up = time.monotonic() + seconds
        while not condition():
            dead = self._find_dead(event_id) if event_id is not None else None
            if dead is not None:
                raise StackError(f"no {what}: {dead.origin} is in the DLQ: {dead.type}: {dead.message}")
            for process in self._processes:
                if not process.supervise():
                    raise StackError(
                        f"no {what}: {process.name} ended with exit code {process.exit_code}; {process.log_end()}"
                    )
            if time.monotonic() > give_up:
                raise StackError(f"not within {seconds:g} s: {what}\n{self.logs()}")
            self._results.take(_TAKE)


@contextmanager
def open_stack(
    agent: str | type[Agent],
    *,
    bootstrap_servers: str,
    namespace: str,
    folder: Path,
    partitions: int = 3,
    workers: int = 1,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Stack]:
    """Create topics, start a router and workers, and stop and delete all of it afterwards.

    Args:
        agent: `MODULE:AGENT` as on the command line, or the class.
        bootstrap_servers: a Kafka that runs.
        namespace: of the topics; a test has its own, so that tests may share a broker.
        folder: for logs and the plan.
        partitions: of every topic.
        workers: processes, each with all actions of the agent.
        environment: variables for all processes, such as `PARKWAY_CONCURRENCY`, or one that tells your code to use
            a scripted model.

    """
    folder.mkdir(parents=True, exist_ok=True)
    source = agent if isinstance(agent, str) else f"{agent.__module__}:{agent.__qualname__}"
    settings = Settings(bootstrap_servers=bootstrap_servers, namespace=namespace)
    stack = Stack(settings, source, folder, partitions=partitions, workers=workers, environment=environment or {})
    try:
        stack.start()
        yield stack
    finally:
        stack.stop()
