"""The tools that an agent has: its functions, and what its MCP servers offer."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from parkway.agents.approval import ApprovalRule
from parkway.agents.tool_context import ToolContext


class AnyTool(Protocol):
    """What a model may call: a `Tool`, or one of an MCP server."""

    @property
    def name(self) -> str:
        """As the model knows it."""

    @property
    def description(self) -> str: ...

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""

    @property
    def timeout(self) -> float:
        """Seconds."""

    @property
    def max_result_bytes(self) -> int | None:
        """Of JSON; None: the worker's limit."""

    @property
    def approval(self) -> ApprovalRule:
        """Which calls a person must allow."""

    def check(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments as `approval` is asked about them. Raises ToolArgumentsError."""

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> Any:
        """Raises ToolArgumentsError, ToolFailedError, or whatever a function raises."""


class ToolSource(Protocol):
    """Where tools come from that are not known before a worker runs."""

    def may_have(self, name: str) -> bool:
        """Could a tool of this name be one of them?"""

    async def tools(self) -> Mapping[str, AnyTool]:
        """By name, as they are now. Raises ToolFailedError when nobody answers."""


class ToolFailedError(Exception):
    """A call that did not succeed, for a reason that is no defect of a function; the message is for people.

    `shown` is what the model is told beside that it failed: what the tool itself said about it.
    """

    def __init__(self, message: str, shown: str | None = None) -> None:
        super().__init__(message)
        self.shown = shown


class Toolbox:
    def __init__(self, functions: Mapping[str, AnyTool], sources: Sequence[ToolSource] = ()) -> None:
        self._functions = dict(functions)
        self._sources = tuple(sources)

    async def all(self) -> Mapping[str, AnyTool]:
        """Every tool by name; of two with one name, the first. Raises ToolFailedError."""
        found = dict(self._functions)
        for source in self._sources:
            found = {**await source.tools(), **found}
        return found

    async def find(self, name: str) -> AnyTool | None:
        """The tool of that name. Raises ToolFailedError when a source that may have it does not answer."""
        if name in self._functions:
            return self._functions[name]
        failure: ToolFailedError | None = None
        for source in self._sources:
            if not source.may_have(name):
                continue
            try:
                tool = (await source.tools()).get(name)
            except ToolFailedError as error:
                failure = failure or error
                continue
            if tool is not None:
                return tool
        if failure is not None:
            raise failure
        return None
