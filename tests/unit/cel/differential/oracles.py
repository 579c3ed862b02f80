"""What other implementations of CEL say: True, False or "error", each with a detail."""

from collections.abc import Callable, Mapping
from typing import Any

import celpy
import celpy.adapter
from cel_expr_python import cel

from parkway.router.cel import TriggerEvaluationError, TriggerLoadError, compile_expression

Outcome = bool | str
Answer = Callable[[str, Mapping[str, Any]], tuple[Outcome, str]]

CPP = cel.NewEnv(variables=dict.fromkeys(("attributes", "id", "event_type"), cel.Type.DYN))
_CELPY = celpy.Environment(runner_class=celpy.InterpretedRunner)


def ours(text: str, event: Mapping[str, Any]) -> tuple[Outcome, str]:
    try:
        return compile_expression(text).evaluate(event), ""
    except TriggerLoadError as error:
        return "error", f"{error.stage}: {error.reason}"
    except TriggerEvaluationError as error:
        return "error", error.reason


def cpp(text: str, event: Mapping[str, Any]) -> tuple[Outcome, str]:
    """The C++ runtime, without its static check, which knows nothing of dynamic values."""
    try:
        value = CPP.compile(text, disable_check=True).eval(data=_variables(event))
    except Exception as error:  # its bindings raise many kinds
        return "error", str(error)
    plain = value.plain_value()
    return (plain, "") if isinstance(plain, bool) else ("error", f"{value.type()} {plain!r}"[:200])


def cel_python(text: str, event: Mapping[str, Any]) -> tuple[Outcome, str]:
    """cel-python's interpreter."""
    try:
        program = _CELPY.program(_CELPY.compile(text))
        value = program.evaluate({name: celpy.adapter.json_to_cel(part) for name, part in _variables(event).items()})
    except Exception as error:  # a RecursionError and an AttributeError are among what it raises
        return "error", f"{type(error).__name__}: {error}"[:600]
    return (bool(value), "") if isinstance(value, celpy.celtypes.BoolType) else ("error", repr(value)[:200])


def _variables(event: Mapping[str, Any]) -> dict[str, Any]:
    return {"attributes": _doubles(event["attributes"]), "id": event["id"], "event_type": event["type"]}


def _doubles(value: Any) -> Any:
    """Integers outside int64 as the doubles that they are in CEL: the oracles take no others."""
    if isinstance(value, dict):
        return {key: _doubles(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_doubles(item) for item in value]
    return float(value) if type(value) is int and not -(2**63) <= value < 2**63 else value
