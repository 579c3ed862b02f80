"""`MCPServer`: a server of the Model Context Protocol whose tools chat models may call."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit, urlunsplit

from parkway.agents.approval import ApprovalRule, Condition
from parkway.agents.errors import AgentError
from parkway.agents.resource import Resource

Secrets: TypeAlias = Mapping[str, str] | Callable[[], Mapping[str, str]]
"""Names and values, or a function that gives them when a worker opens the server: a plan is built without secrets."""

Approvals: TypeAlias = Condition | Sequence[str] | Mapping[str, Condition]
"""For all of its tools, for those with these names, or by name."""


@dataclass(frozen=True, slots=True)
class Stdio:
    """A process that a worker starts; of the worker's environment it sees PATH, HOME and the like, and `env`."""

    command: str
    args: tuple[str, ...]
    env: Secrets
    cwd: str | None


@dataclass(frozen=True, slots=True)
class Http:
    """A server that is there, by streamable HTTP."""

    url: str
    headers: Secrets


class MCPServer(Resource):
    """Made by `MCPServer.stdio(...)` or `MCPServer.http(...)`, and given to `ChatModel(tools=[...])`.

    Workers open it, not the plan: its tools are not known before. Every option is of both:

    - `prefix`: the tools are called `<prefix>_<name>`, so that those of two servers differ;
    - `tools`: only these, by the server's names (None: all that it has);
    - `timeout`: seconds of one call; `connect_timeout`: of opening the server, and of asking for its tools;
    - `max_result_bytes`: as of `@tool`;
    - `requires_approval`: True, a text, a function of the arguments; the names of the tools that need it; or a
      mapping of those names to one of these. `approval_timeout` as of `@tool`.

    Names in these options are the server's own, without the prefix.
    """

    def __init__(
        self,
        transport: Stdio | Http,
        *,
        prefix: str | None = None,
        tools: Sequence[str] | None = None,
        timeout: float = 60.0,
        connect_timeout: float = 10.0,
        max_result_bytes: int | None = None,
        requires_approval: Approvals = False,
        approval_timeout: float | None = None,
    ) -> None:
        """Raise AgentError for values that make no sense."""
        self.transport = transport
        self.name = (
            transport.command if isinstance(transport, Stdio) else _address(transport.url)
        )  # until a class names it
        self.prefix = prefix
        self.tools = frozenset(tools) if tools is not None and not isinstance(tools, str) else None
        self.timeout = timeout
        self.connect_timeout = connect_timeout
        self.max_result_bytes = max_result_bytes
        if isinstance(tools, str):
            raise AgentError(f"MCPServer(tools={tools!r}): a list, such as [{tools!r}]")
        if prefix is not None and (not isinstance(prefix, str) or not prefix.replace("_", "a").isalnum()):
            raise AgentError(f"MCPServer(prefix={prefix!r}): letters, digits and '_', such as 'github'")
        for name, value in (("timeout", timeout), ("connect_timeout", connect_timeout)):
            if isinstance(value, bool) or value <= 0:
                raise AgentError(f"MCPServer({name}={value!r}): seconds, more than 0")
        if max_result_bytes is not None and max_result_bytes < 1:
            raise AgentError(f"MCPServer(max_result_bytes={max_result_bytes!r}): at least 1")
        self._rules, self._others = _rules(requires_approval, approval_timeout)

    @classmethod
    def stdio(
        cls,
        command: str,
        args: Sequence[str] = (),
        *,
        env: Secrets | None = None,
        cwd: str | Path | None = None,
        **options: Any,
    ) -> "MCPServer":
        """Make one that each worker process starts for itself: `MCPServer.stdio("uvx", ["mcp-server-git"])`.

        `env` is added to what the process sees of the environment; a function gives it when a worker starts it.
        `options` as in the class. Raises AgentError.
        """
        if isinstance(args, str):
            raise AgentError(f"MCPServer.stdio(args={args!r}): a list, such as {args.split()!r}")
        if not isinstance(command, str) or not command.strip():
            raise AgentError(f"MCPServer.stdio({command!r}): the program to start, such as 'uvx'")
        where = str(cwd) if cwd is not None else None
        return cls(Stdio(command, tuple(args), env if env is not None else {}, where), **options)

    @classmethod
    def http(cls, url: str, *, headers: Secrets | None = None, **options: Any) -> "MCPServer":
        """Make one that is reached at `url` by streamable HTTP.

        `headers` go with every request; a function gives them when a worker connects, so that
        `lambda: {"Authorization": f"Bearer {os.environ['TOKEN']}"}` needs the token there only. `options` as in the
        class. Raises AgentError.
        """
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            raise AgentError(f"MCPServer.http({url!r}): a URL, such as 'https://example.com/mcp'")
        return cls(Http(url, headers if headers is not None else {}), **options)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<MCPServer {self.name}>"

    @property
    def may_ask(self) -> bool:
        """Is there any tool whose calls a person must allow?"""
        return self._others.may_ask or any(rule.may_ask for rule in self._rules.values())

    def approval(self, tool: str) -> ApprovalRule:
        """The rule for a tool, by the server's name of it."""
        return self._rules.get(tool, self._others)


def _address(url: str) -> str:
    """A URL without what may be a secret: user and password, and the query."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _rules(requires: Approvals, timeout: float | None) -> tuple[dict[str, ApprovalRule], ApprovalRule]:
    """Rules by tool, and the one of all others."""
    none = ApprovalRule("", False, None)
    if isinstance(requires, Mapping):
        return {name: ApprovalRule(name, condition, timeout) for name, condition in requires.items()}, none
    if isinstance(requires, bool | str) or callable(requires):
        return {}, ApprovalRule("of an MCPServer", requires, timeout)
    return {name: ApprovalRule(name, True, timeout) for name in requires}, none
