"""`@tool`: a Python function that a chat model may call."""

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, ParamSpec, TypeVar, overload

from parkway.agents.errors import AgentError, ToolArgumentsError
from parkway.agents.threads import run_in_thread
from parkway.agents.tool_schema import schema_of

Params = ParamSpec("Params")
Result = TypeVar("Result")

DEFAULT_TIMEOUT: Final = 60.0  # seconds
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what the providers accept


class Tool(Generic[Params, Result]):
    """A tool function with what a model is told about it. Calling it calls the function.

    `parameters` is the JSON schema of its arguments, without the `injected` ones. `timeout` is in seconds.
    """

    def __init__(
        self,
        function: Callable[Params, Result],
        *,
        name: str | None = None,
        description: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        injected: Sequence[str] = (),
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
        self.timeout = timeout
        self.injected = frozenset(injected)
        self._schema = schema_of(function, self.name, description, tuple(injected))
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

    async def call(self, arguments: Mapping[str, Any], injected: Mapping[str, Any] | None = None) -> Any:
        """Check `arguments`, call the function (a sync one in a thread) and give its result.

        Of `injected`, what the tool asks for is passed as it is; it wins over what the model sent under such
        a name. The caller watches `timeout`. Raises ToolArgumentsError before the function is called, then
        whatever the function raises.
        """
        sent = {name: value for name, value in arguments.items() if name not in self.injected}
        values = self._schema.validate(self.name, sent) | self._injected_values(injected or {})
        function: Callable[..., Any] = self.function
        if inspect.iscoroutinefunction(function):
            return await function(**values)
        return await run_in_thread(function, **values)

    def _injected_values(self, available: Mapping[str, Any]) -> dict[str, Any]:
        parameters = inspect.signature(self.function).parameters
        for name in sorted(self.injected):
            if name not in available and parameters[name].default is inspect.Parameter.empty:
                raise ToolArgumentsError(
                    f"Tool `{self.name}`: nothing is there to inject as {name!r} "
                    f"(there is: {', '.join(sorted(available)) or 'nothing'})"
                )
        return {name: available[name] for name in self.injected if name in available}


@overload
def tool(function: Callable[Params, Result], /) -> Tool[Params, Result]: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    injected: Sequence[str] = (),
) -> Callable[[Callable[Params, Result]], Tool[Params, Result]]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    injected: Sequence[str] = (),
) -> Any:
    """Make a function a tool: `@tool`, or `@tool(name=..., timeout=30, injected=["tenant"])`.

    The schema comes from the signature, the texts from the docstring. `timeout` is in seconds. Parameters in
    `injected` are given by Parkway, and the model neither sees nor sets them. Raises AgentError.
    """
    make = functools.partial(Tool, name=name, description=description, timeout=timeout, injected=injected)
    return make if function is None else make(function)


def as_tool(value: object) -> Tool[..., Any]:
    """Give a tool for what stands in `tools=[...]`: a Tool, or a plain function."""
    if isinstance(value, Tool):
        return value
    if not callable(value):
        raise AgentError(f"tools=[{value!r}]: a function or what @tool made of one")
    return Tool(value)
