"""What is doubtful about the rows of decision tables: shown by `parkway plan build`, and no error."""

from collections.abc import Iterator
from typing import Final

from parkway.agents.agent import Definition
from parkway.agents.decision_model import DecisionModel
from parkway.agents.decision_rules import Rules
from parkway.router.cel import Trigger
from parkway.router.cel.implication import implies
from parkway.router.cel.lint import lint_trigger

_MOST_ROWS: Final = 200  # that are compared with each other


def decision_warnings(definition: Definition) -> list[str]:
    """Warnings about the tables of an agent's decision models, fallbacks included; each once."""
    warnings: dict[str, None] = {}
    for name, model in definition.of(DecisionModel).items():
        for source in model.sources:
            if isinstance(source, Rules):
                for warning in _warnings(source):
                    warnings[f"decision model {name!r}: {source.label}: {warning}"] = None
    return list(warnings)


def _warnings(rules: Rules) -> Iterator[str]:
    for row in rules.rows:
        for warning in lint_trigger(Trigger(row.condition.text, None, row.condition)):
            yield f"{row.place} (`{row.condition.text}`): {warning}"
    for later, row in enumerate(rules.rows[:_MOST_ROWS]):
        for earlier in rules.rows[:later]:
            if implies(row.condition.tree, earlier.condition.tree):
                yield f"{row.place}: {_shadow(rules, earlier.place)}"
                break


def _shadow(rules: Rules, other: str) -> str:
    if rules.hit == "first":
        return f"it is never asked for: {other} hits whenever it does, and comes before it"
    return f"it never hits alone: {other} hits whenever it does, which hit='unique' does not allow"
