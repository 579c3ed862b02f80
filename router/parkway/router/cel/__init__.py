"""Triggers: CEL over JSON events, compiled to Python (DESIGN 5)."""

from parkway.router.cel.errors import TriggerEvaluationError, TriggerLoadError
from parkway.router.cel.expression import Expression, compile_expression
from parkway.router.cel.trigger import Trigger, compile_trigger

__all__ = [
    "Expression",
    "Trigger",
    "TriggerEvaluationError",
    "TriggerLoadError",
    "compile_expression",
    "compile_trigger",
]
