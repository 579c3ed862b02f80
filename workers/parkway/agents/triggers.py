"""The triggers of a user action as they stand in the plan: `when` folded in, and everything checked."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pydantic import AliasChoices, AliasPath, BaseModel

from parkway.agents.action import ActionSpec
from parkway.agents.errors import AgentError, did_you_mean
from parkway.agents.handler import Binding, binding_of
from parkway.router.cel import Trigger, TriggerLoadError, compile_expression, compile_trigger
from parkway.schemas.event_types import BUILT_IN_TYPES, DEFAULT_ACCEPTS, EventType
from parkway.schemas.events import Event


@dataclass(frozen=True, slots=True)
class PlannedTrigger:
    """A trigger of the plan; `event_types` are those it can fire for, None when it is not bound to any."""

    text: str
    event_types: frozenset[str] | None


def planned_triggers(spec: ActionSpec) -> tuple[PlannedTrigger, ...]:
    """Compile an action's triggers. Raises AgentError that names the action, the trigger and the reason."""
    binding = binding_of(spec.where, spec.function)
    when = spec.options.when
    if when is not None:
        _check_when(spec, when, binding)
    planned = tuple(_planned(spec, entry, when) for entry in spec.options.triggers)
    for entry, trigger in zip(spec.options.triggers, planned, strict=True):
        _check_types(spec, entry, trigger.event_types)
        _check_fits_handler(spec, entry, trigger.event_types, binding)
    return planned


def accepted_types(spec: ActionSpec, triggers: Iterable[PlannedTrigger]) -> Iterator[str]:
    """Event types that `external=True` lets in from outside. Raises AgentError where they are not known."""
    if not spec.options.external:
        return
    for entry, trigger in zip(spec.options.triggers, triggers, strict=True):
        if trigger.event_types is None:
            raise _error(
                spec,
                entry,
                "external=True needs event types: write those as triggers, and the condition as when=...",
            )
        for event_type in sorted(trigger.event_types):
            if event_type in BUILT_IN_TYPES and event_type not in DEFAULT_ACCEPTS:
                raise _error(
                    spec,
                    entry,
                    f"external=True: {event_type} is never accepted from outside; leave it out",
                )
            yield event_type


def _planned(spec: ActionSpec, entry: str, when: str | None) -> PlannedTrigger:
    compiled = _compiled(spec, entry, entry)
    if when is None:
        return PlannedTrigger(entry.strip(), compiled.event_types)
    if compiled.kind == "event-type" and compiled.event_types:
        (event_type,) = compiled.event_types
        condition = f"type == '{event_type}'"
    else:
        condition = _in_parentheses(entry)
    folded = f"{condition} && {_in_parentheses(when)}"
    return PlannedTrigger(folded, _compiled(spec, entry, folded).event_types)


def _in_parentheses(text: str) -> str:
    end = "\n" if "//" in text else ""  # a comment must not swallow the parenthesis
    return f"({text.strip()}{end})"


def _compiled(spec: ActionSpec, entry: str, text: str) -> Trigger:
    try:
        return compile_trigger(text)
    except TriggerLoadError as error:
        raise _error(spec, entry, str(error)) from error


def _check_when(spec: ActionSpec, when: str, binding: Binding) -> None:
    where = f"action {spec.name!r} ({spec.where}): when={when!r}"
    try:
        condition = compile_trigger(when)
        if condition.kind == "event-type":
            raise AgentError(f"{where}: a condition, such as 'amount > 100'; types are positional triggers")
        names = compile_expression(when).attribute_names
    except TriggerLoadError as error:
        raise AgentError(f"{where}: {error}") from error
    fields = _known_names(binding)
    for name in sorted(names - fields) if fields else ():
        taken = (binding.model or binding.event_class or Event).__name__
        raise AgentError(f"{where}: {taken} has no field {name!r}{did_you_mean(name, fields)}")


def _check_types(spec: ActionSpec, entry: str, event_types: frozenset[str] | None) -> None:
    for event_type in sorted(event_types or ()):
        if event_type == EventType.OutputEvent:
            raise _error(spec, entry, "outputs trigger nothing; send an event of your own type")
        if event_type.startswith("_") and event_type not in BUILT_IN_TYPES:
            raise _error(
                spec,
                entry,
                f"event type {event_type!r}: types that begin with _ are Parkway's"
                f"{did_you_mean(event_type, BUILT_IN_TYPES)}; choose another name",
            )


def _check_fits_handler(spec: ActionSpec, entry: str, event_types: frozenset[str] | None, binding: Binding) -> None:
    wanted = binding.event_class
    for event_type in sorted(event_types or ()):
        if wanted is not None and event_type != wanted.EVENT_TYPE:
            meant = did_you_mean(event_type, [wanted.EVENT_TYPE])
            way_out = f"{meant}; or annotate it with Event" if meant else "; annotate it with Event"
            raise _error(spec, entry, f"fires for {event_type!r}, and the handler takes {wanted.__name__}{way_out}")


def _known_names(binding: Binding) -> frozenset[str]:
    """Attributes that an event for this handler can have; empty: any."""
    if binding.event_class is not None:
        return frozenset(binding.event_class.attribute_names())
    if binding.model is None or binding.model.model_config.get("extra") == "allow":
        return frozenset()
    return field_names(binding.model)


def field_names(model: type[BaseModel]) -> frozenset[str]:
    """Names under which the attributes hold a model's fields."""
    config = model.model_config
    by_name = config.get("populate_by_name") or config.get("validate_by_name")
    names: set[str] = set()
    for name, field in model.model_fields.items():
        aliases = _alias_names(field.validation_alias)
        names.update(aliases)
        if by_name or not aliases:
            names.add(name)
    return frozenset(names)


def _alias_names(alias: str | AliasPath | AliasChoices | None) -> set[str]:
    choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
    firsts = [choice.path[0] if isinstance(choice, AliasPath) else choice for choice in choices]
    return {first for first in firsts if isinstance(first, str)}


def _error(spec: ActionSpec, entry: str, reason: str) -> AgentError:
    return AgentError(f"action {spec.name!r} ({spec.where}): trigger {entry!r}: {reason}")
