"""The tools of one MCP server, as they are now."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from parkway.agents.approval import ApprovalRule
from parkway.agents.mcp_server import MCPServer
from parkway.agents.tool_context import ToolContext
from parkway.runtime.logs import get_logger
from parkway.workers.actions.mcp_connection import Connection, ConnectionLostError
from parkway.workers.actions.toolbox import AnyTool, ToolFailedError
from parkway.workers.times import monotonic

if TYPE_CHECKING:
    from mcp.types import CallToolResult
    from mcp.types import Tool as ListedTool

IDEMPOTENCY_KEY: Final = "io.parkway/idempotency-key"  # in `_meta` of a call
_LISTED_SECONDS: Final = 60.0  # so old a list may be; a server's own word that it has changed is not waited for
_MOST_PAGES: Final = 100
_LONGEST_NAME: Final = 64  # what the providers accept
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class McpTool:
    """An `AnyTool`. `listed` is what the server calls it."""

    name: str
    listed: str
    description: str
    parameters: dict[str, Any]
    repeatable: bool  # the server says that a second call does no harm
    approval: ApprovalRule
    server: MCPServer
    connection: Connection

    @property
    def timeout(self) -> float:
        return self.server.timeout

    @property
    def max_result_bytes(self) -> int | None:
        return self.server.max_result_bytes

    def check(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The server checks them."""
        return arguments

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> Any:
        """Raises ToolFailedError. What was lost with the server is sent again where that can do no harm."""
        try:
            result = await self._send(arguments, context)
        except ConnectionLostError as lost:
            if lost.delivered and not self.repeatable:
                raise
            result = await self._send(arguments, context)
        if result.is_error:
            text = str(_value_of(result)) or "it gave no reason"
            raise ToolFailedError(text, shown=text)
        return _value_of(result)

    async def _send(self, arguments: Mapping[str, Any], context: ToolContext) -> "CallToolResult":
        meta: Any = {IDEMPOTENCY_KEY: context.idempotency_key}
        return await self.connection.request(lambda client: client.call_tool(self.listed, dict(arguments), meta=meta))


class McpSource:
    """A `ToolSource`: what one server offers. Asked anew after a minute, and of a new connection."""

    def __init__(self, server: MCPServer) -> None:
        """Raise AgentError when the package `mcp` is missing."""
        self._server = server
        self._connection = Connection(server)
        self._asking = asyncio.Lock()
        self._tools: dict[str, AnyTool] = {}
        self._failures = 0
        self._failed: ToolFailedError | None = None  # the last one
        self._asked: tuple[float, object] | None = None  # when, and of which connection
        self._log = get_logger("mcp").bind(server=server.name)

    def may_have(self, name: str) -> bool:
        prefix = self._server.prefix
        return prefix is None or name.startswith(f"{prefix}_")

    async def tools(self) -> Mapping[str, AnyTool]:
        """By name, as the model knows them. Raises ToolFailedError.

        Who waits while the server is asked gets what that brings: it does not answer each of a hundred chats, one
        after the other, `connect_timeout` late.
        """
        failures = self._failures
        async with self._asking:
            if not self._is_current():
                if self._failures != failures:
                    assert self._failed is not None
                    raise ToolFailedError(str(self._failed))  # of a question that this one waited for
                try:
                    listed = await self._list()
                except ToolFailedError as error:
                    self._failures, self._failed = self._failures + 1, error
                    raise
                self._tools = self._named(listed)
                self._asked = (monotonic(), self._connection.generation)
        return self._tools

    async def close(self) -> None:
        await self._connection.close()

    def _is_current(self) -> bool:
        if self._asked is None or monotonic() - self._asked[0] > _LISTED_SECONDS:
            return False
        return self._asked[1] is not None and self._asked[1] is self._connection.generation

    async def _list(self) -> "list[ListedTool]":
        try:
            async with asyncio.timeout(2 * self._server.connect_timeout):
                try:
                    return await self._pages()
                except ConnectionLostError:  # it was dead already: a question may be asked again
                    return await self._pages()
        except TimeoutError:
            raise ToolFailedError(f"MCP server {self._server.name!r} does not say what tools it has") from None
        except ToolFailedError:
            raise
        except Exception as error:
            raise ToolFailedError(
                f"MCP server {self._server.name!r} does not say what tools it has: {type(error).__name__}: {error}"
            ) from error

    async def _pages(self) -> "list[ListedTool]":
        found: list[ListedTool] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            at = cursor
            page = await self._connection.request(
                lambda client, at=at: client.list_tools(cursor=at, cache_mode="refresh")  # type: ignore[misc]
            )
            found += page.tools
            cursor = page.next_cursor
            if cursor is None:
                break
        return found

    def _named(self, listed: "list[ListedTool]") -> dict[str, AnyTool]:
        server = self._server
        named: dict[str, AnyTool] = {}
        for one in listed:
            if server.tools is not None and one.name not in server.tools:
                continue
            prefixed = f"{server.prefix}_{one.name}" if server.prefix is not None else one.name
            name = _NOT_IN_NAMES.sub("_", prefixed)[:_LONGEST_NAME]
            if name in named:
                self._log.warning("mcp_tool_left_out", tool=one.name, reason=f"another one is called {name}, too")
                continue
            hints = one.annotations
            named[name] = McpTool(
                name=name,
                listed=one.name,
                description=one.description or "",
                parameters=dict(one.input_schema),
                repeatable=hints is not None and bool(hints.read_only_hint or hints.idempotent_hint),
                approval=server.approval(one.name),
                server=server,
                connection=self._connection,
            )
        missing = sorted((server.tools or set()) - {one.name for one in listed})
        if missing:
            self._log.warning("mcp_tools_missing", tools=missing, there=[one.name for one in listed])
        return named


_SOURCES: Final[dict[MCPServer, McpSource]] = {}


def source_of(server: MCPServer) -> McpSource:
    """The one of this process: all its actions share a connection."""
    source = _SOURCES.get(server)
    if source is None:
        source = _SOURCES[server] = McpSource(server)
    return source


async def close_all() -> None:
    """End every connection of this process."""
    for source in list(_SOURCES.values()):
        await source.close()


def _value_of(result: "CallToolResult") -> Any:
    """The structured content, without the wrapper that a value which is no object gets; else the text."""
    structured = result.structured_content
    if structured is not None:
        return structured["result"] if structured.keys() == {"result"} else structured
    return "\n".join(_text(part) for part in result.content)


def _text(part: Any) -> str:
    """What a chat model can be shown of a part."""
    if part.type == "text":
        return str(part.text)
    if part.type == "resource":
        return str(getattr(part.resource, "text", f"[{part.resource.uri}: not text]"))
    if part.type == "resource_link":
        return f"[{part.uri}]"
    return f"[{part.type}: {getattr(part, 'mime_type', 'unknown')}, not shown]"
