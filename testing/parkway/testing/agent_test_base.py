"""What the async agent test and its sync twin share: how they are set up, and what can be looked at."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from parkway.agents.agent import Agent
from parkway.runtime.codec import event_codec
from parkway.runtime.records import Record
from parkway.schemas import jsonio
from parkway.schemas.events import CancelRequestEvent, Event
from parkway.schemas.headers import CONTENT_TYPE, HOPS, JSON_CONTENT, TYPE, Headers
from parkway.schemas.journal import JournalRecord
from parkway.schemas.parked import ParkedRecord
from parkway.schemas.plan import Plan
from parkway.schemas.topics import Topics
from parkway.testing.clock import Clock
from parkway.testing.errors import AgentTestError
from parkway.testing.host import Host
from parkway.testing.installation import Installation
from parkway.testing.live import KafkaInstallation, live_settings
from parkway.testing.log_record import LogRecord, partition_of
from parkway.testing.memory.installation import MemoryInstallation
from parkway.testing.memory.lives import Death
from parkway.testing.overrides import Models, Resources, Tools
from parkway.testing.setup import Setup, make_setup
from parkway.testing.trace import Trace, trace_of
from parkway.testing.views import DeadLetter, Views

Sent = Event | Mapping[str, Any] | bytes

PATIENCE: Final = 60.0  # seconds of the machine's time


class BaseAgentTest:
    """Looked at from the test's thread; what runs, runs on the host's (host.py)."""

    def __init__(
        self,
        agent: type[Agent] | Agent | str,
        *,
        models: Models | None = None,
        tools: Tools | None = None,
        resources: Resources | None = None,
        kafka: str | bool | None = None,
        partitions: int = 3,
        settings: Mapping[str, Any] | None = None,
        policies: Mapping[str, Any] | None = None,
        actions: Sequence[str] = (),
        death: Death | None = None,
    ) -> None:
        """Raise AgentTestError for overrides that the agent has no place for, AgentError for an agent that is none.

        `agent`: the class (one instance a process), an instance, or `MODULE:AGENT`. `models`, `tools`, `resources` go
        over its own (`overrides.py`). `kafka`: False or None for a log in memory, `host:port` for that broker,
        True for one that is started. `settings` are those of `PARKWAY_*`, by their names; `policies` go over the
        plan's, such as `hop_limit=5`. `actions`: only these run, as under `parkway worker --action`.
        """
        self._on_kafka = kafka or None
        if self._on_kafka is not None and death is not None:
            raise AgentTestError("crash=... runs in memory only: on Kafka a transaction's outcome cannot be timed")
        own = live_settings(self._on_kafka) if self._on_kafka is not None else {}
        self._setup: Setup = make_setup(
            agent,
            models=models,
            tools=tools,
            resources=resources,
            partitions=partitions,
            settings=settings,
            policies=policies,
            actions=actions,
            **own,
        )
        self._death = death
        self._host: Host | None = None
        self._installation: Installation | None = None
        self._codec = event_codec(self._setup.settings)
        self._keyless = 0

    # -- what there is

    @property
    def plan(self) -> Plan:
        return self._setup.plan

    @property
    def agent(self) -> type[Agent] | Agent:
        """The agent with the test's overrides."""
        return self._setup.agent

    @property
    def topics(self) -> Topics:
        return self._setup.settings.topics

    @property
    def installation(self) -> Installation:
        """Where it runs."""
        assert self._installation is not None
        return self._installation

    @property
    def clock(self) -> Clock:
        """The test's clock: `test.clock.advance(minutes=10)`."""
        return self._running().clock

    @property
    def outputs(self) -> list[Any]:
        """The values that actions gave to `ctx.output`. In order per key; keys are not ordered among each other."""
        return [value for _, value in self._views().outputs()]

    def outputs_of(self, key: str | bytes | None) -> list[Any]:
        """The same, of records with this key, in order."""
        wanted = key.encode() if isinstance(key, str) else key
        return [value for record, value in self._views().outputs() if record.key == wanted]

    @property
    def responses(self) -> list[Event]:
        """The responses to requests that the test has sent, such as ChatResponseEvents."""
        return self._views().responses()

    @property
    def events(self) -> list[Event]:
        """What actions sent to each other (`<ns>.events`), requests and responses too."""
        return self._views().events(self._setup.settings.topics.events)

    @property
    def dlq(self) -> list[DeadLetter]:
        return self._views().dlq()

    @property
    def parked(self) -> list[ParkedRecord]:
        """The requests that wait: for tools, for a person."""
        return self._views().parked()

    @property
    def journal(self) -> list[JournalRecord]:
        return self._views().journal()

    @property
    def state(self) -> dict[str, Any]:
        """`ctx.state` of all keys: `<action>/<record key>` -> what is remembered."""
        return self._views().state()

    @property
    def trace(self) -> Trace:
        """What led to what, as a tree. `print(test.trace)`."""
        return trace_of(self._views(), self._setup.settings.topics)

    def all_records(self) -> list[LogRecord]:
        """Every committed record; those of a partition in order."""
        return list(self._views().records)

    def records(self, topic: str) -> list[LogRecord]:
        """The records of a topic: `requests`, `events`, `action.NAME`, ... or a foreign one by its full name."""
        topics = self._setup.settings.topics
        names = {f"{topics.namespace}.{topic}", topic}
        return [record for record in self._views().records if record.topic in names]

    def value_of(self, record: LogRecord) -> Any:
        """The JSON of a record's value; None for a tombstone."""
        return self._views().body(record) if record.value is not None else None

    # -- how it works

    def _running(self) -> Host:
        if self._host is None:
            raise AgentTestError(
                "the test has not begun, or is over: `async with AgentTest(...) as test:`, `with SyncAgentTest(...)`"
            )
        return self._host

    def _views(self) -> Views:
        host, installation = self._running(), self._installation
        assert installation is not None
        return Views(self._setup.settings.topics, self._codec, host.call(installation.read()))

    def open(self) -> None:
        """Start it, where no `with` fits: `close` ends it."""
        host = self._open()
        try:
            host.call(self._start())
        except BaseException:
            self._close()
            raise

    def close(self) -> None:
        """End it."""
        try:
            self._running().call(self._stop())
        finally:
            self._close()

    def _open(self) -> Host:
        for model in self._setup.scripted:
            model.restart()
        host = Host(stands=self._on_kafka is None)
        if self._on_kafka is None:
            self._installation = host.make(lambda: MemoryInstallation(self._setup, host.loop, self._death))
        else:
            self._installation = host.make(lambda: KafkaInstallation(self._setup, host.loop))
        self._host = host
        return host

    async def _start(self) -> None:
        assert self._installation is not None
        await self._installation.start()

    async def _stop(self) -> None:
        assert self._installation is not None
        await self._installation.stop()

    def _close(self) -> None:
        if self._host is not None:
            self._host.close()
            self._host = None

    async def _send(self, records: list[Record]) -> None:
        assert self._installation is not None
        await self._installation.send(records)

    async def _run(self, at_most: timedelta | float, patience: float) -> None:
        assert self._installation is not None
        seconds = at_most.total_seconds() if isinstance(at_most, timedelta) else at_most
        await self._installation.run(seconds, patience)
        for model in self._setup.scripted:
            if model.problems:
                raise model.problems[0]

    def _record(
        self, event: Sent, key: str | bytes | None, headers: Mapping[str, str] | None, topic: str | None
    ) -> tuple[str | None, Record]:
        """The id of the event, and its record as a producer outside would write it."""
        topics = self._setup.settings.topics
        event_id, value = None, event
        out: Headers = []
        if isinstance(event, Event):
            event_id, value, out = event.id, event.to_json(), [(CONTENT_TYPE, JSON_CONTENT)]
        elif isinstance(event, Mapping):
            event_id, value = event.get("id"), jsonio.dumps(dict(event))
        assert isinstance(value, bytes)
        out += [(name, text.encode()) for name, text in (headers or {}).items()]
        bytes_key = key.encode() if isinstance(key, str) else key
        if bytes_key is None:
            self._keyless += 1
        partition = partition_of(bytes_key, self._setup.partitions, self._keyless)
        return event_id, Record(topic or topics.requests, partition, bytes_key, value, out)

    def _cancellation(self, request_id: str, action: str, reason: str | None) -> Record:
        """As `parkway requests cancel` writes it: where the request is."""
        topics = self._setup.settings.topics
        named = [record for record in self._views().records if record.topic in {topics.requests, topics.events}]
        home = next((one for one in named if (self._views().body(one) or {}).get("id") == request_id), None)
        if home is None:
            raise AgentTestError(f"cancel({request_id!r}): no event of that id was sent")
        event = CancelRequestEvent(request_id=request_id, action=action, reason=reason)
        out: Headers = [(CONTENT_TYPE, JSON_CONTENT), (TYPE, event.type), (HOPS, "0")]
        return Record(topics.events, home.partition, home.key, event.to_json(), out)
