"""Methods of an agent out of functions: `@action` and all that follows see no difference."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, Final

from parkway.agents.action import action
from parkway.agents.declarative.resources import ResourceMaker
from parkway.agents.declarative.scope import Scope, telling
from parkway.agents.declarative.spec import ActionSpec
from parkway.agents.errors import AgentError
from parkway.schemas.event_types import EventType

_SELF: Final = "self"


def _short_name(constant: str) -> str:
    """`ChatResponseEvent` -> `chat_response`."""
    words = constant.removesuffix("Event")
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in words).lstrip("_")


EVENT_NAMES: Final = {_short_name(name): event_type for name, event_type in EventType.names().items()}
"""Short names of the built-in event types, as Flink Agents has them: `chat_response` ..."""


def action_method(scope: Scope, maker: ResourceMaker, spec: ActionSpec, where: str) -> Callable[..., Any]:
    """Give the method that handles the action's events. Raises AgentError that begins with `where`."""
    path = f"{where}: actions[{spec.name}]"
    method = as_method(f"{path}: function", scope.resolve(f"{path}: function", spec.function))
    options = spec.given("function", "type", "trigger_conditions", "retry")
    if spec.retry is not None:
        options["retry"] = maker.retry(f"{path}.retry", spec.retry)
    triggers = [EVENT_NAMES.get(entry.strip(), entry) for entry in spec.trigger_conditions]
    with telling(path):
        return action(*triggers, name=spec.name.replace("_", "-"), where=where, **options)(method)


def as_method(where: str, function: Any) -> Callable[..., Any]:
    """Give a method that calls the function: with the agent first when its first parameter is called `self`.

    A function may be the method of a class (`support:Support.triage`): what its decorator says does not count here.
    Raises AgentError for what is no function.
    """
    if isinstance(function, type) or not callable(function):
        raise AgentError(f"{where}: {function!r} is no function")
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    takes_agent = bool(parameters) and parameters[0].name == _SELF
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise AgentError(f"{where}: a handler sends with ctx.send(...); it must not yield")

    method = (_async_method if inspect.iscoroutinefunction(function) else _sync_method)(function, takes_agent)
    functools.update_wrapper(method, function)
    if not takes_agent:
        me = inspect.Parameter(_SELF, inspect.Parameter.POSITIONAL_ONLY)
        vars(method)["__signature__"] = signature.replace(parameters=[me, *parameters])
    return method


def _async_method(function: Callable[..., Any], takes_agent: bool) -> Callable[..., Any]:  # noqa: FBT001
    async def method(self: Any, *arguments: Any) -> Any:
        return await function(self, *arguments) if takes_agent else await function(*arguments)

    return method


def _sync_method(function: Callable[..., Any], takes_agent: bool) -> Callable[..., Any]:  # noqa: FBT001
    def method(self: Any, *arguments: Any) -> Any:
        return function(self, *arguments) if takes_agent else function(*arguments)

    return method
