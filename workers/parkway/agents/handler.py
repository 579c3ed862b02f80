"""What a handler's signature asks for: which form of the event, and the context or not."""

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from parkway.agents.context import Context
from parkway.agents.errors import AgentError
from parkway.schemas import jsonio
from parkway.schemas.event import TYPED_EVENTS
from parkway.schemas.events import Event, TypedEvent


class BodyError(ValueError):
    """An event that does not fit what the handler asks for."""


@dataclass(frozen=True, slots=True)
class Binding:
    """`first` is the class of the first argument: an event class, a model of the attributes, or None."""

    first: type[Event] | type[BaseModel] | None
    takes_context: bool

    @property
    def event_class(self) -> type[TypedEvent] | None:
        """The typed event class that the handler takes; None when it takes any event, or a model."""
        return self.first if self.first is not None and issubclass(self.first, TypedEvent) else None

    @property
    def model(self) -> type[BaseModel] | None:
        """The pydantic model of the attributes that the handler takes, if it takes one."""
        if self.first is None or issubclass(self.first, Event):
            return None
        return self.first

    def arguments(self, event: Event, attributes: Mapping[str, Any], context: Context) -> tuple[Any, ...]:
        """The handler's arguments. Raises BodyError when the event does not fit."""
        first: tuple[Any, ...] = ()
        if self.first is not None:
            first = (self._first_argument(event, attributes),)
        return (*first, context) if self.takes_context else first

    def _first_argument(self, event: Event, attributes: Mapping[str, Any]) -> Any:
        if self.event_class is not None and not isinstance(event, self.event_class):
            raise BodyError(f"event type {event.type!r}: the handler takes {self.event_class.__name__}")
        if self.model is None:
            return event
        try:
            # As JSON, not as Python values: a strict model reads dates and tuples only from there.
            return self.model.model_validate_json(jsonio.dumps(attributes))
        except ValidationError as error:
            problems = "; ".join(
                f"{'.'.join(str(part) for part in problem['loc']) or 'attributes'}: {problem['msg']}"
                for problem in error.errors(include_url=False, include_context=False, include_input=False)
            )
            raise BodyError(f"{self.model.__name__}: {problems}") from None


def binding_of(where: str, method: Callable[..., Any]) -> Binding:
    """Read a handler's signature. Raises AgentError that begins with `where`."""
    if inspect.isgeneratorfunction(method) or inspect.isasyncgenfunction(method):
        raise AgentError(f"{where}: a handler sends with ctx.send(...); it must not yield")
    parameters = list(inspect.signature(method).parameters.values())
    if not parameters or parameters[0].kind is parameters[0].KEYWORD_ONLY:
        raise AgentError(f"{where}: a handler is a method; its first parameter is self")
    hints = _hints(where, method)
    asked = [parameter for parameter in parameters[1:] if _is_asked(parameter)]
    annotations = [hints.get(parameter.name, Event) for parameter in asked]
    for parameter in asked:
        if parameter.kind is parameter.KEYWORD_ONLY:
            raise AgentError(f"{where}: parameter {parameter.name!r}: a handler is called by position")
    if len(asked) == 1 and annotations[0] is Context:
        return Binding(None, takes_context=True)
    if len(asked) not in (1, 2):
        raise AgentError(
            f"{where}({', '.join(parameter.name for parameter in parameters)}): a handler is "
            f"def {method.__name__}(self, event, ctx)"
        )
    first = _first_class(where, asked[0].name, annotations[0])
    if len(asked) == 2 and asked[1].name in hints and annotations[1] is not Context:
        raise AgentError(
            f"{where}: parameter {asked[1].name!r}: the second is the Context, not {_name(annotations[1])}"
        )
    return Binding(first, takes_context=len(asked) == 2)


def _is_asked(parameter: inspect.Parameter) -> bool:
    variadic = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    return not variadic and parameter.default is parameter.empty


def _hints(where: str, method: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(method)
    except Exception as error:
        raise AgentError(
            f"{where}: an annotation cannot be resolved: {error}; define the class at the module's top level"
        ) from error


def _first_class(where: str, parameter: str, annotation: Any) -> type[Event] | type[BaseModel]:
    if annotation is Any:
        return Event
    if inspect.isclass(annotation) and not isinstance(annotation, types.GenericAlias):
        if issubclass(annotation, Event):
            if annotation is Event or annotation in TYPED_EVENTS.values():
                return annotation
            raise AgentError(
                f"{where}: parameter {parameter!r}: {annotation.__name__} is no event class of Parkway; "
                "take a pydantic model of the attributes, or Event"
            )
        if issubclass(annotation, BaseModel):
            return annotation
        if annotation is Context:
            raise AgentError(f"{where}: parameter {parameter!r}: the event comes first, then the Context")
    raise AgentError(
        f"{where}: parameter {parameter!r}: {_name(annotation)} is neither an event class nor a pydantic "
        "model; write Event for any event"
    )


def _name(annotation: Any) -> str:
    return annotation.__name__ if inspect.isclass(annotation) else str(annotation)
