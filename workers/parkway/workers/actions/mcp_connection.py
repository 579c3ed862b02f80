"""The connection of a process to one MCP server: opened when it is needed, and again when the server has died.

The SDK ties a connection to the task that opened it: whatever happens to it, a dead server included, happens to that
task. So each connection lives in a task of its own, and callers wait beside it.

Learnt from mcp 2.3: a stdio server that dies fails what is in flight with "Connection closed", and nobody is told while
nothing is. Over HTTP it is noticed by the next request, which cancels the task of the connection; a request that found
nobody (`ConnectError`) was not delivered, any other may have been.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

from parkway.agents.errors import AgentError
from parkway.agents.mcp_server import Http, MCPServer, Secrets
from parkway.runtime.logs import get_logger
from parkway.workers.actions.toolbox import ToolFailedError
from parkway.workers.times import monotonic

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client._transport import TransportStreams

Answer = TypeVar("Answer")

_PAUSE: Final = 1.0  # seconds between two attempts to open a server that is down
_CONNECTION_CLOSED: Final = -32000  # JSON-RPC codes of the SDK
_SESSION_TERMINATED: Final = -32600  # the server was started anew, and does not know the session
_CLOSED_STREAMS: Final = frozenset({"ClosedResourceError", "BrokenResourceError"})  # anyio's


class ConnectionLostError(ToolFailedError):
    """The server went away. `delivered`: it may have had the request, and done what it asks."""

    def __init__(self, message: str, *, delivered: bool) -> None:
        super().__init__(message)
        self.delivered = delivered


class Connection:
    """To one server, for one event loop. Raises AgentError when the package `mcp` is missing."""

    def __init__(self, server: MCPServer) -> None:
        try:
            import mcp  # noqa: F401, PLC0415  an extra
        except ImportError:
            raise AgentError(f"MCP server {server.name!r}: pip install 'parkway[mcp]'") from None
        self._server = server
        self._live: _Live | None = None
        self._ending: list[_Live] = []  # those whose process may still have to be ended
        self._opening = asyncio.Lock()
        self._failed: tuple[float, str] | None = None  # when it could not be opened last, and why
        self._log = get_logger("mcp").bind(server=server.name)

    @property
    def generation(self) -> object:
        """Another one after each opening; None while there is no connection."""
        return self._live if self._live is not None and not self._live.is_lost else None

    async def request(self, send: "Callable[[Client], Awaitable[Answer]]") -> Answer:
        """What the server answers. Raises ToolFailedError, ConnectionLostError, and what else the SDK raises."""
        live = await self._opened()
        return await live.request(send)

    async def close(self) -> None:
        """End the connection, and the processes of a stdio server with it."""
        for live in self._ending:
            await live.close()

    async def _opened(self) -> "_Live":
        async with self._opening:
            if self._live is not None and not self._live.is_lost:
                return self._live
            if self._failed is not None and monotonic() - self._failed[0] < _PAUSE:
                raise ToolFailedError(self._failed[1])
            live = _Live(self._server)
            self._ending = [*(one for one in self._ending if not one.has_ended), live]
            try:
                await live.open()
            except ToolFailedError as error:
                self._failed = (monotonic(), str(error))
                self._log.warning("mcp_server_not_opened", reason=str(error))
                raise
            self._log.info("mcp_server_opened", again=self._live is not None)
            self._live, self._failed = live, None
            return live


class _Live:
    """One life of a connection."""

    def __init__(self, server: MCPServer) -> None:
        self._server = server
        loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[Client] = loop.create_future()
        self._lost: asyncio.Future[BaseException | None] = loop.create_future()
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_lost(self) -> bool:
        return self._lost.done() or self._stop.is_set()

    @property
    def has_ended(self) -> bool:
        return self._lost.done()

    async def open(self) -> None:
        """Raises ToolFailedError."""
        self._task = asyncio.create_task(self._run())
        seconds = self._server.connect_timeout
        try:
            await _first(self._ready, self._lost, seconds=seconds)
        finally:
            if not self._ready.done():
                self._stop.set()
                self._task.cancel()  # not waited for: to end a process that does not listen takes seconds
        if not self._ready.done():
            why = self._reason() if self._lost.done() else f"no answer within {seconds:g} s"
            raise ToolFailedError(f"MCP server {self._server.name!r} cannot be reached: {why}")

    async def request(self, send: "Callable[[Client], Awaitable[Answer]]") -> Answer:
        from mcp.shared.exceptions import MCPError  # noqa: PLC0415  an extra

        asked: asyncio.Future[Answer] = asyncio.ensure_future(send(self._ready.result()))
        try:
            await _first(asked, self._lost)
        finally:
            if not asked.done():
                asked.cancel()
        if asked.done() and not asked.cancelled():
            error = asked.exception()
            if error is None:
                return asked.result()
            code = error.error.code if isinstance(error, MCPError) else None
            if code == _SESSION_TERMINATED:
                await self.close()
                raise self._went_away(delivered=False)
            if code != _CONNECTION_CLOSED and type(error).__name__ not in _CLOSED_STREAMS:
                if isinstance(error, MCPError):
                    raise ToolFailedError(error.error.message, shown=error.error.message)
                raise error
            await asyncio.wait([self._lost], timeout=1.0)  # it knows why
            await self.close()
        raise self._went_away(delivered=not self._found_nobody())

    async def close(self) -> None:
        self._stop.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=5.0)

    async def _run(self) -> None:
        why: BaseException | None = None
        try:
            async with AsyncExitStack() as stack:
                self._ready.set_result(await self._client(stack))
                await self._stop.wait()
        except BaseException as error:  # the SDK lets out groups, and cancels this task for its own reasons
            why = error
        finally:
            self._lost.set_result(why)

    async def _client(self, stack: AsyncExitStack) -> "Client":
        from mcp import Client, StdioServerParameters  # noqa: PLC0415  an extra
        from mcp.client.stdio import stdio_client  # noqa: PLC0415
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415
        from mcp.shared._httpx_utils import create_mcp_http_client  # noqa: PLC0415

        transport = self._server.transport
        streams: AbstractAsyncContextManager[TransportStreams]
        if isinstance(transport, Http):
            headers = _headers(transport.headers)
            http = await stack.enter_async_context(create_mcp_http_client(headers=headers))
            streams = streamable_http_client(transport.url, http_client=http)
        else:
            parameters = StdioServerParameters(
                command=transport.command,
                args=list(transport.args),
                env=_values(transport.env, "env"),
                cwd=transport.cwd,
            )
            streams = stdio_client(parameters)
        return await stack.enter_async_context(Client(_watched(streams, self._stop.set)))

    def _went_away(self, *, delivered: bool) -> ConnectionLostError:
        return ConnectionLostError(f"MCP server {self._server.name!r} went away: {self._reason()}", delivered=delivered)

    def _found_nobody(self) -> bool:
        error = _leaf(self._lost.result()) if self._lost.done() else None
        return type(error).__name__ == "ConnectError"

    def _reason(self) -> str:
        error = _leaf(self._lost.result()) if self._lost.done() else None
        if error is None or isinstance(error, asyncio.CancelledError):
            return "its connection was closed"
        return f"{type(error).__name__}: {error}"


@asynccontextmanager
async def _watched(
    transport: "AbstractAsyncContextManager[TransportStreams]", on_end: Callable[[], None]
) -> "AsyncIterator[TransportStreams]":
    """The same transport; `on_end` is called when the server's side of it has ended."""
    import anyio  # noqa: PLC0415  it comes with the extra

    async with transport as (read, write):
        send, receive = anyio.create_memory_object_stream[Any](0)

        async def relay() -> None:
            async with send:
                async for message in read:
                    await send.send(message)
            on_end()

        async with anyio.create_task_group() as group:
            group.start_soon(relay)
            yield receive, write
            group.cancel_scope.cancel()


def _values(given: Secrets, what: str) -> dict[str, str]:
    """Raises ToolFailedError; what a function of the user raises may quote a secret."""
    try:
        return dict(given() if callable(given) else given)
    except Exception as error:
        raise ToolFailedError(f"its {what} function raised {type(error).__name__}") from None


def _headers(given: Secrets) -> dict[str, str]:
    """Raises ToolFailedError: httpx would quote a value that no header may have, such as a key with a line end."""
    values = _values(given, "headers")
    for name, value in values.items():
        if not isinstance(value, str) or not (value.isascii() and value.isprintable()):
            raise ToolFailedError(
                f"header {name!r} is no printable ASCII text: does it end with a line end? (.strip() what a file gave)"
            )
    return values


async def _first(*futures: asyncio.Future[Any], seconds: float | None = None) -> None:
    await asyncio.wait(futures, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)


def _leaf(error: BaseException | None) -> BaseException | None:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
