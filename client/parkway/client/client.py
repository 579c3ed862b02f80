"""The client for asyncio."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from types import TracebackType
from typing import Literal, Self, overload

from parkway.client.engine import Engine, Key
from parkway.client.errors import ClientClosedError, ClientError
from parkway.client.waiters import Waiter
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


class Client:
    """Sends events and waits for what becomes of them.

        async with Client(bootstrap_servers="localhost:9092") as client:
            response = await client.request(ChatRequestEvent(model="assistant", messages=[...]), key="Ann")

    Settings that are not given come from `PARKWAY_*` variables; `kafka` is passed to librdkafka (`security.protocol`,
    `partitioner`, ...). `wire_format`: what events are written in; both formats are read.

    `reply_topic`: read responses from that topic instead of `<ns>.outputs` (it must be on the plan's list).
    `watch_dlq`: a request that ends in the DLQ raises DeadLetteredError instead of waiting for its timeout (needs the
    right to read it; without that it is off). `cancel_abandoned`: a chat or decision whose caller was cancelled, or
    whose time is over, is cancelled, too.

    One client serves thousands of requests at once, from any task; make one for a process, not one for a request.
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

    async def open(self) -> Self:
        """Connect; `async with` does it. Raises TopologyError when no broker answers or a topic is missing."""
        if self._engine is None:
            self._engine = await asyncio.to_thread(
                Engine, self._settings, reply_topic=self._reply_topic, watch_dlq=self._watch_dlq
            )
        return self

    async def close(self) -> None:
        """Send what is on its way, for five seconds at most. Whoever still waits gets ClientClosedError."""
        if self._engine is not None:
            await asyncio.to_thread(self._engine.close)

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @overload
    async def request(
        self,
        event: ChatRequestEvent,
        *,
        key: Key = None,
        timeout: float | None = _SECONDS,
        headers: Mapping[str, str] | None = None,
    ) -> ChatResponseEvent: ...
    @overload
    async def request(
        self,
        event: DecisionRequestEvent,
        *,
        key: Key = None,
        timeout: float | None = _SECONDS,
        headers: Mapping[str, str] | None = None,
    ) -> DecisionResponseEvent: ...
    @overload
    async def request(
        self,
        event: ContextRetrievalRequestEvent,
        *,
        key: Key = None,
        timeout: float | None = _SECONDS,
        headers: Mapping[str, str] | None = None,
    ) -> ContextRetrievalResponseEvent: ...
    @overload
    async def request(
        self,
        event: Event,
        *,
        key: Key = None,
        timeout: float | None = _SECONDS,
        headers: Mapping[str, str] | None = None,
    ) -> Event: ...
    async def request(
        self,
        event: Event,
        *,
        key: Key = None,
        timeout: float | None = _SECONDS,
        headers: Mapping[str, str] | None = None,
    ) -> Event:
        """Send a request and wait for its one terminal response, successful or failed.

        `key` is the record's key: requests of one key stay in order. `timeout` (seconds) is also the request's deadline
        for whoever works on it. `headers` may hold what travels with an event: `parkway-tenant`, `parkway-subject`,
        `traceparent`, `parkway-deadline`.

        Raises RequestTimeoutError, DeadLetteredError, NotDeliveredError, ClientClosedError; ClientError for an event
        that has no response.
        """
        engine = self._opened
        waiter = engine.request(event, key, timeout, headers)
        return await self._answer(engine, waiter, asyncio.wrap_future(waiter.future), timeout)

    async def ask(
        self,
        event: Event,
        *,
        key: Key = None,
        timeout: float | None = _SECONDS,
        headers: Mapping[str, str] | None = None,
    ) -> OutputEvent:
        """Send an event and wait for the first output (`ctx.output`) that it causes.

        Raises as `request` does; DeadLetteredError also when something that it caused ends in the DLQ first.
        """
        async with aclosing(self.outputs(event, key=key, timeout=timeout, headers=headers)) as outputs:
            return await anext(outputs)

    async def outputs(
        self,
        event: Event,
        *,
        key: Key = None,
        timeout: float | None = _SECONDS,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncGenerator[OutputEvent, None]:
        """Send an event and iterate over the outputs that it causes; leave the loop when you have what you want.

        Nobody knows how many there will be: RequestTimeoutError ends the iteration `timeout` seconds after its
        beginning. Raises as `ask` does.
        """
        engine, loop = self._opened, asyncio.get_running_loop()
        found: asyncio.Queue[Event | ClientError] = asyncio.Queue()

        def give(item: Event | ClientError) -> bool:
            if not loop.is_closed():
                loop.call_soon_threadsafe(found.put_nowait, item)
            return False

        waiter = engine.outputs(engine.new_outputs_waiter(event, give), key, timeout, headers)
        give_up = loop.time() + timeout if timeout is not None else None
        try:
            while True:
                try:
                    async with asyncio.timeout_at(give_up):
                        item = await found.get()
                except TimeoutError:
                    raise engine.timed_out(waiter, timeout) from None
                if isinstance(item, ClientError):
                    raise item
                assert isinstance(item, OutputEvent)
                yield item
        finally:
            engine.abandon(waiter, None, cancel=False)

    async def send(self, event: Event, *, key: Key = None, headers: Mapping[str, str] | None = None) -> str:
        """Send an event without waiting for anything that it causes; returns its id once Kafka has it.

        Raises NotDeliveredError, ClientClosedError.
        """
        return await asyncio.wrap_future(self._opened.send(event, key, headers))

    async def cancel(self, request_id: str, *, action: str | None = None, reason: str | None = None) -> None:
        """Cancel a request of this client that is in flight; it then ends in its failed response `cancelled`.

        `action` is the action that answers it, where it is not a built-in one. Returns once Kafka has the
        cancellation. Raises ClientError when no such request is in flight.
        """
        await asyncio.wrap_future(self._opened.cancel(request_id, action, reason))

    @property
    def in_flight(self) -> int:
        """How many events are waited for."""
        return len(self._engine.in_flight) if self._engine is not None else 0

    @property
    def _opened(self) -> Engine:
        if self._engine is None:
            raise ClientClosedError(
                "the client is not open: use it as `async with Client(...) as client`, or open() it"
            )
        return self._engine

    async def _answer(
        self,
        engine: Engine,
        waiter: Waiter,
        answer: "asyncio.Future[Event]",
        seconds: float | None,
    ) -> Event:
        try:
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError as late:
            if isinstance(late, ClientError):
                raise
            engine.abandon(waiter, "the client's timeout is over", cancel=self._cancel_abandoned)
            raise engine.timed_out(waiter, seconds) from None
        except asyncio.CancelledError:
            engine.abandon(waiter, "its caller was cancelled", cancel=self._cancel_abandoned)
            raise
