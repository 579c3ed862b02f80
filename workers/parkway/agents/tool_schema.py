"""What a model is told about a tool function, and the check of what it sends."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_type_hints

from pydantic import ValidationError
from pydantic.errors import PydanticUserError
from pydantic_ai import Tool as PydanticTool
from pydantic_ai.exceptions import UserError
from pydantic_core import SchemaValidator

from parkway.agents.errors import AgentError, ToolArgumentsError
from parkway.agents.tool_context import ToolContext


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """`parameters` is the JSON schema of the arguments; `validator` makes Python values of them."""

    description: str
    parameters: dict[str, Any]
    validator: SchemaValidator

    def validate(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments as the function takes them, defaults filled in. Raises ToolArgumentsError."""
        try:
            values: dict[str, Any] = self.validator.validate_python(dict(arguments))
        except ValidationError as error:
            problems = "; ".join(
                f"{'.'.join(str(part) for part in problem['loc']) or 'arguments'}: {problem['msg']}"
                for problem in error.errors(include_url=False, include_context=False)
            )
            raise ToolArgumentsError(f"Tool `{tool}`: {problems}") from None
        return values


def context_parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The parameters that are annotated `ToolContext`; `schema_of` judges annotations that cannot be read."""
    try:
        hints = get_type_hints(function)
    except Exception:
        return ()
    return tuple(name for name, hint in hints.items() if hint is ToolContext and name != "return")


def schema_of(function: Callable[..., Any], name: str, description: str | None, injected: Sequence[str]) -> ToolSchema:
    """Read signature and docstring (Google, numpy, Sphinx or plain) of a tool function.

    Parameters named in `injected` are left out. Raises AgentError for a function that cannot be a tool.
    """
    signature = _checked_signature(function, name, injected)
    try:
        hints = get_type_hints(function, include_extras=True)
    except Exception as error:
        raise AgentError(f"tool {name!r}: an annotation cannot be resolved: {error}") from error
    visible = _visible_part(function, signature, hints, injected)
    try:
        described = PydanticTool(visible, takes_ctx=False, name=name, description=description)
    except (PydanticUserError, UserError) as error:
        reason = str(error).splitlines()[0]
        raise AgentError(f"tool {name!r}: no JSON schema for its parameters: {reason}") from error
    schema = described.function_schema
    return ToolSchema(described.description or "", dict(schema.json_schema), schema.validator)


def _visible_part(
    function: Callable[..., Any], signature: inspect.Signature, hints: dict[str, Any], injected: Sequence[str]
) -> Callable[..., Any]:
    """Make a function that looks like the part of `function` that the model sees; it is never called."""

    def visible(**arguments: Any) -> None:
        raise NotImplementedError(arguments)

    shown = [parameter for name, parameter in signature.parameters.items() if name not in injected]
    visible.__name__ = visible.__qualname__ = getattr(function, "__name__", "tool")
    visible.__doc__ = inspect.getdoc(function)
    visible.__annotations__ = {name: hint for name, hint in hints.items() if name not in {*injected, "return"}}
    vars(visible)["__signature__"] = signature.replace(parameters=shown, return_annotation=inspect.Signature.empty)
    return visible


def _checked_signature(function: Callable[..., Any], name: str, injected: Sequence[str]) -> inspect.Signature:
    signature = inspect.signature(function)
    for parameter in signature.parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise AgentError(
                f"tool {name!r}: parameter {str(parameter)!r}: a model sends arguments by name; "
                "use parameters with names, without *, ** and /"
            )
        if parameter.name in ("self", "cls"):
            raise AgentError(f"tool {name!r}: takes {parameter.name!r}: a tool is a function outside of classes")
    for wanted in injected:
        if wanted not in signature.parameters:
            raise AgentError(
                f"tool {name!r}: injected {wanted!r} is none of its parameters "
                f"({', '.join(signature.parameters) or 'it has none'})"
            )
    return signature
