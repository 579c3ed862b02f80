"""`@tool`: a Python function that a chat model may call."""

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, ParamSpec, TypeVar, overload

from parkway.agents.approval import ApprovalRule, Condition
from parkway.agents.errors import AgentError, ToolArgumentsError, did_you_mean
from parkway.agents.threads import run_in_thread
from parkway.agents.tool_context import INJECTABLE, ToolContext
from parkway.agents.tool_schema import context_parameters, schema_of

Params = ParamSpec("Params")
Result = TypeVar("Result")

DEFAULT_TIMEOUT: Final = 60.0  # seconds
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what the providers accept


class Tool(Generic[Params, Result]):
    """A tool function with what a model is told about it. Calling it calls the function.

    `parameters` is the JSON schema of its arguments, without the injected ones. `timeout` is in seconds,
    `max_result_bytes` of JSON (None: the worker's limit), `approval` says which calls a person must allow.
    """

    def __init__(
        self,
        function: Callable[Params, Result],
        *,
        name: str | None = None,
        description: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        injected: Sequence[str] = (),
        inject: Mapping[str, Any] | None = None,
        max_result_bytes: int | None = None,
        requires_approval: Condition = False,
        approval_timeout: float | None = None,
    ) -> None:
        """Raise AgentError for a function that cannot be a tool, or for values that make no sense."""
        if not callable(function) or isinstance(function, type):
            raise AgentError(f"tool {function!r}: a tool is a function")
        self.function = function
        self.name = name if name is not None else getattr(function, "__name__", "")
        if not _NAME.fullmatch(self.name):
            raise AgentError(f"tool name {self.name!r}: 1 to 64 letters, digits, '_', '-'; see @tool(name=...)")
        if timeout <= 0:
            raise AgentError(f"tool {self.name!r}: timeout={timeout}: seconds, more than 0")
        if isinstance(injected, str):
            raise AgentError(f"tool {self.name!r}: injected={injected!r}: a list, such as [{injected!r}]")
        if max_result_bytes is not None and (isinstance(max_result_bytes, bool) or max_result_bytes < 1):
            raise AgentError(f"tool {self.name!r}: max_result_bytes={max_result_bytes!r}: at least 1")
        for wanted in injected:
            if wanted not in INJECTABLE:
                hint = did_you_mean(wanted, INJECTABLE) or f"; there are {', '.join(INJECTABLE)}"
                raise AgentError(
                    f"tool {self.name!r}: injected={wanted!r}: nothing is called so{hint}; a value of your own goes "
                    f"by inject={{{wanted!r}: ...}}"
                )
        self.timeout = timeout
        self.max_result_bytes = max_result_bytes
        self.approval = ApprovalRule(self.name, requires_approval, approval_timeout)
        self._fixed = dict(inject or {})
        self._wanted = frozenset(injected)
        self._contexts = context_parameters(function)
        self.injected = frozenset({*self._wanted, *self._fixed, *self._contexts})
        self._schema = schema_of(function, self.name, description, tuple(self.injected))
        functools.update_wrapper(self, function)

    @property
    def description(self) -> str:
        return self._schema.description

    @property
    def parameters(self) -> dict[str, Any]:
        return self._schema.parameters

    def __call__(self, *args: Params.args, **kwargs: Params.kwargs) -> Result:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Tool {self.name}>"

    def check(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What the function would be called with, but for what is injected. Raises ToolArgumentsError."""
        sent = {name: value for name, value in arguments.items() if name not in self.injected}
        return self._schema.validate(self.name, sent)

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> Any:
        """Check `arguments`, call the function (a sync one in a thread) and give its result.

        What the tool asks for out of `context` wins over what the model sent under such a name. The caller watches
        `timeout`. Raises ToolArgumentsError before the function is called, then whatever the function raises.
        """
        values = self.check(arguments) | self._injected_values(context)
        function: Callable[..., Any] = self.function
        if inspect.iscoroutinefunction(function):
            return await function(**values)
        return await run_in_thread(function, **values)

    def _injected_values(self, context: ToolContext) -> dict[str, Any]:
        parameters = inspect.signature(self.function).parameters
        available = context.available()
        for name in sorted(self._wanted):
            if name not in available and parameters[name].default is inspect.Parameter.empty:
                raise ToolArgumentsError(
                    f"Tool `{self.name}`: nothing is there to inject as {name!r} "
                    f"(there is: {', '.join(sorted(available)) or 'nothing'})"
                )
        values = {name: available[name] for name in self._wanted if name in available}
        return values | dict.fromkeys(self._contexts, context) | self._fixed


@overload
def tool(function: Callable[Params, Result], /) -> Tool[Params, Result]: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    injected: Sequence[str] = (),
    inject: Mapping[str, Any] | None = None,
    max_result_bytes: int | None = None,
    requires_approval: Condition = False,
    approval_timeout: float | None = None,
) -> Callable[[Callable[Params, Result]], Tool[Params, Result]]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    injected: Sequence[str] = (),
    inject: Mapping[str, Any] | None = None,
    max_result_bytes: int | None = None,
    requires_approval: Condition = False,
    approval_timeout: float | None = None,
) -> Any:
    """Make a function a tool: `@tool`, or `@tool(name=..., timeout=30, injected=["tenant"])`.

    The schema comes from the signature, the texts from the docstring. `timeout` is in seconds; what is longer than
    `max_result_bytes` of JSON is cut (None: 200,000). The model neither sees nor sets a parameter that `injected`
    names (a member of `ToolContext`), one that `inject` gives a value, or one that is annotated `ToolContext`.

    With `requires_approval` a call waits until a person allows it: True, a text that says why, or a function of the
    arguments that gives one of them, such as `lambda args: args["amount"] > 100`. A call that nobody has decided
    about `approval_timeout` seconds later is denied (None: shortly before its request's deadline). Raises AgentError.
    """
    make = functools.partial(
        Tool,
        name=name,
        description=description,
        timeout=timeout,
        injected=injected,
        inject=inject,
        max_result_bytes=max_result_bytes,
        requires_approval=requires_approval,
        approval_timeout=approval_timeout,
    )
    return make if function is None else make(function)


def as_tool(value: object) -> Tool[..., Any]:
    """Give a tool for what stands in `tools=[...]`: a Tool, or a plain function."""
    if isinstance(value, Tool):
        return value
    if not callable(value):
        raise AgentError(f"tools=[{value!r}]: a function, what @tool made of one, or an MCPServer")
    return Tool(value)
