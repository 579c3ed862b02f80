"""`AgentTest`: an agent in a test, with the real router, actions and transactions. Kafka is replaced, or real."""

from collections.abc import Mapping
from datetime import timedelta
from types import TracebackType
from typing import Self

from parkway.testing.agent_test_base import PATIENCE, BaseAgentTest, Sent


class AgentTest(BaseAgentTest):
    """An agent in an async test.

    ```python
    async with AgentTest(Support, models={"assistant": ScriptedModel("It is paid.")}) as test:
        await test.send(Event("ticket", {"customer": "c1"}), key="c1")
        await test.run()
        assert test.outputs == [{"text": "It is paid."}]
    ```
    """

    async def __aenter__(self) -> Self:
        host = self._open()
        try:
            await host.call_async(self._start())
        except BaseException:
            self._close()
            raise
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        try:
            await self._running().call_async(self._stop())
        finally:
            self._close()

    async def send(
        self,
        *events: Sent,
        key: str | bytes | None = None,
        headers: Mapping[str, str] | None = None,
        topic: str | None = None,
    ) -> list[str | None]:
        """Write events to `requests` (or to `topic`, a Source's), as a producer outside does; returns their ids.

        An Event, a map in the form of its JSON, or bytes. They are handled by `run`.
        """
        made = [self._record(event, key, headers, topic) for event in events]
        await self._running().call_async(self._send([record for _, record in made]))
        return [event_id for event_id, _ in made]

    async def cancel(self, request_id: str, action: str = "chat", reason: str | None = None) -> None:
        """Cancel a request by its id, as `parkway requests cancel` does."""
        await self._running().call_async(self._send([self._cancellation(request_id, action, reason)]))

    async def run(self, at_most: timedelta | float = timedelta(hours=1), patience: float = PATIENCE) -> None:
        """Return when all is quiet: nothing runs, is queued, or waits for its next attempt.

        What is parked stays so: for answers, approvals, deadlines (`clock.advance`). The clock moves as far as what
        is in flight waits for it, `at_most` (a timedelta or seconds); `patience` is in seconds of the machine's
        time. Raises NotQuietError, ScriptError, and whatever ended a worker or the router.
        """
        await self._running().call_async(self._run(at_most, patience))


class SyncAgentTest(BaseAgentTest):
    """The same for tests without an event loop: `with SyncAgentTest(Support) as test: test.send(...); test.run()`."""

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def send(
        self,
        *events: Sent,
        key: str | bytes | None = None,
        headers: Mapping[str, str] | None = None,
        topic: str | None = None,
    ) -> list[str | None]:
        """As `AgentTest.send`."""
        made = [self._record(event, key, headers, topic) for event in events]
        self._running().call(self._send([record for _, record in made]))
        return [event_id for event_id, _ in made]

    def cancel(self, request_id: str, action: str = "chat", reason: str | None = None) -> None:
        """As `AgentTest.cancel`."""
        self._running().call(self._send([self._cancellation(request_id, action, reason)]))

    def run(self, at_most: timedelta | float = timedelta(hours=1), patience: float = PATIENCE) -> None:
        """As `AgentTest.run`."""
        self._running().call(self._run(at_most, patience))
