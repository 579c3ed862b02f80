"""The client for threads."""

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Literal, Self, overload

from parkway.client.engine import Engine, Key
from parkway.client.errors import ClientClosedError, ClientError
from parkway.runtime.settings import load_settings
from parkway.schemas.events import (
    ChatRequestEvent,
    ChatResponseEvent,
    ContextRetrievalRequestEvent,
    ContextRetrievalResponseEvent,
    DecisionRequestEvent,
    DecisionResponseEvent,
    Event,
    OutputEvent,
)

_SECONDS = 60.0
_KAFKA_SECONDS = 180.0  # longer than a delivery may take: its outcome is known before


class SyncClient:
    """`Client` without asyncio: the same arguments, methods and errors. Any thread may use one at the same time.

    with SyncClient(bootstrap_servers="localhost:9092") as client:
        response = client.request(ChatRequestEvent(model="assistant", messages=[...]), key="Ann")
    """

    def __init__(
        self,
        bootstrap_servers: str | None = None,
        namespace: str | None = None,
        *,
        reply_topic: str | None = None,
        watch_dlq: bool = True,
        cancel_abandoned: bool = True,
        schema_registry: str | None = None,
        wire_format: Literal["json", "avro"] | None = None,
        kafka: Mapping[str, str] | None = None,
    ) -> None:
        self._settings = load_settings(
            kafka,
            bootstrap_servers=bootstrap_servers,
            namespace=namespace,
            schema_registry=schema_registry,
            wire_format=wire_format,
        )
        self._reply_topic = reply_topic
        self._watch_dlq = watch_dlq
        self._cancel_abandoned = cancel_abandoned
        self._engine: Engine | None = None

    def open(self) -> Self:
        """Connect; `with` does it. Raises TopologyError when no broker answers or a topic is missing."""
        if self._engine is None:
            self._engine = Engine(self._settings, reply_topic=self._reply_topic, watch_dlq=self._watch_dlq)
        return self

    def close(self) -> None:
        """Send what is on its way, for five seconds at most. Whoever still waits gets ClientClosedError."""
        if self._engine is not None:
            self._engine.close()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @overload
    def request(
        self,
        event: ChatRequestEvent,
        *,
        key: Key = None,
        timeout: float | None = _SECONDS,
        headers: Mapping[str, str] | None = None,
    ) -> ChatResponseEvent: ...
    @overload
    def request(
        self,
        event: DecisionRequestEvent,
        *,
        key: Key = None,
        timeout: float | None = _SECONDS,
        headers: Mapping[str, str] | None = None,
    ) -> DecisionResponseEvent: ...
    @overload
    def request(
        self,
        event: ContextRetrievalRequestEvent,
        *,
        key: Key = None,
        timeout: float | None = _SECONDS,
        headers: Mapping[str, str] | None = None,
    ) -> ContextRetrievalResponseEvent: ...
    @overload
    def request(
        self,
        event: Event,
        *,
        key: Key = None,
        timeout: float | None = _SECONDS,
        headers: Mapping[str, str] | None = None,
    ) -> Event: ...
    def request(
        self,
        event: Event,
        *,
        key: Key = None,
        timeout: float | None = _SECONDS,
        headers: Mapping[str, str] | None = None,
    ) -> Event:
        """As `Client.request`. An exception in the waiting thread (Ctrl-C) cancels the request, too."""
        engine = self._opened
        waiter = engine.request(event, key, timeout, headers)
        try:
            return waiter.future.result(timeout)
        except ClientError:
            raise
        except TimeoutError:
            engine.abandon(waiter, "the client's timeout is over", cancel=self._cancel_abandoned)
            raise engine.timed_out(waiter, timeout) from None
        except BaseException:
            engine.abandon(waiter, "its caller was interrupted", cancel=self._cancel_abandoned)
            raise

    def ask(
        self,
        event: Event,
        *,
        key: Key = None,
        timeout: float | None = _SECONDS,
        headers: Mapping[str, str] | None = None,
    ) -> OutputEvent:
        """As `Client.ask`."""
        return next(self.outputs(event, key=key, timeout=timeout, headers=headers))

    def outputs(
        self,
        event: Event,
        *,
        key: Key = None,
        timeout: float | None = _SECONDS,
        headers: Mapping[str, str] | None = None,
    ) -> Iterator[OutputEvent]:
        """As `Client.outputs`."""
        engine = self._opened
        found: SimpleQueue[Event | ClientError] = SimpleQueue()

        def give(item: Event | ClientError) -> bool:
            found.put(item)
            return False

        waiter = engine.outputs(engine.new_outputs_waiter(event, give), key, timeout, headers)
        give_up = time.monotonic() + timeout if timeout is not None else None
        try:
            while True:
                try:
                    item = found.get(timeout=max(0.0, give_up - time.monotonic()) if give_up is not None else None)
                except Empty:
                    raise engine.timed_out(waiter, timeout) from None
                if isinstance(item, ClientError):
                    raise item
                assert isinstance(item, OutputEvent)
                yield item
        finally:
            engine.abandon(waiter, None, cancel=False)

    def send(self, event: Event, *, key: Key = None, headers: Mapping[str, str] | None = None) -> str:
        """As `Client.send`."""
        return self._opened.send(event, key, headers).result(_KAFKA_SECONDS)

    def send_soon(self, event: Event, *, key: Key = None, headers: Mapping[str, str] | None = None) -> "Future[str]":
        """As `send`, and does not wait for Kafka: the future has the id, or raises NotDeliveredError."""
        return self._opened.send(event, key, headers)

    def cancel(self, request_id: str, *, action: str | None = None, reason: str | None = None) -> None:
        """As `Client.cancel`."""
        self._opened.cancel(request_id, action, reason).result(_KAFKA_SECONDS)

    @property
    def in_flight(self) -> int:
        """How many events are waited for."""
        return len(self._engine.in_flight) if self._engine is not None else 0

    @property
    def _opened(self) -> Engine:
        if self._engine is None:
            raise ClientClosedError("the client is not open: use it as `with SyncClient(...) as client`, or open() it")
        return self._engine
