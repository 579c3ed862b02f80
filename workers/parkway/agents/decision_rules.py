"""The rows of a decision table, compiled: CEL conditions over a decision's state, and the answers they give.

Bare names in a condition are the members of the state, as they are an event's attributes in a trigger. A state that
is no object (a text, a list) is the name `state`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from pydantic import BaseModel

from parkway.agents.errors import AgentError, did_you_mean
from parkway.agents.triggers import field_names
from parkway.router.cel import Expression, TriggerEvaluationError, TriggerLoadError, compile_expression
from parkway.router.cel.nodes import Event, Has, Node, children
from parkway.schemas.decision_answers import (
    Answer,
    AnswerError,
    ChoiceAnswer,
    NoulAnswer,
    ScoreAnswer,
    check_answer,
)
from parkway.schemas.decision_questions import Choice, Noul, Question
from parkway.schemas.json_form import short

HitPolicy: TypeAlias = Literal["first", "unique"]
Values: TypeAlias = Mapping[str, bool | str | float]

STATE: Final = "state"
DEFAULT: Final = "default"


class RulesError(ValueError):
    """A table that gives no answer for a state: no row hits, several do, or a condition cannot be evaluated."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One row: `place` is how messages name it (`row 3`), `answers` hold that name as their `rule`."""

    place: str
    condition: Expression
    answers: Mapping[str, Answer]


@dataclass(frozen=True, slots=True)
class Rules:
    """A table that can be asked. Immutable, needs no network, and safe to share between threads."""

    label: str
    questions: Mapping[str, Question]
    rows: Sequence[Rule]
    default: Mapping[str, Answer] | None
    hit: HitPolicy = "first"

    def decide(self, state: Any) -> Mapping[str, Answer]:
        """The answers of the row that hits, or of the default. Raises RulesError, which names rows."""
        event = {"id": "", "type": "", "attributes": state if isinstance(state, dict) else {STATE: state}}
        hits: list[Rule] = []
        for row in self.rows:
            if _holds(row, event):
                if self.hit == "first":
                    return row.answers
                hits.append(row)
        if len(hits) > 1:
            places = ", ".join(f"{row.place} (`{row.condition.text}`)" for row in hits)
            raise RulesError(f"{len(hits)} rows hit where hit='unique' allows one: {places}")
        if hits:
            return hits[0].answers
        if self.default is None:
            raise RulesError(f"none of the {len(self.rows)} rows hits, and there is no default")
        return self.default


def compiled_rule(
    place: str,
    when: object,
    values: Mapping[str, object],
    questions: Mapping[str, Question],
    state: type[BaseModel] | None = None,
) -> Rule:
    """Compile a row; its names must be fields of `state`. Raises AgentError that begins with `place`."""
    if not isinstance(when, str):
        raise AgentError(f"{place}: when={short(when)}: a CEL condition, such as 'amount > 100'")
    try:
        condition = compile_expression(when)
    except TriggerLoadError as error:
        raise AgentError(f"{place}: when={when!r}: {error}") from error
    for node in _nodes(condition.tree):
        name = _own_name(node)
        if name is not None:
            raise AgentError(
                f"{place}: when={when!r}: `{name}` would be an event's own; write attributes.{name} for the state's"
            )
    if state is not None and state.model_config.get("extra") != "allow":
        fields = field_names(state)
        for name in sorted(condition.attribute_names - fields):
            hint = did_you_mean(name, fields)
            raise AgentError(f"{place}: when={when!r}: {state.__name__} has no field {name!r}{hint}")
    return Rule(place, condition, read_values(place, values, questions))


def read_values(place: str, values: object, questions: Mapping[str, Question]) -> dict[str, Answer]:
    """What a row or a default says -> answers to all questions. Raises AgentError that begins with `place`."""
    if not isinstance(values, Mapping):
        raise AgentError(f"{place}: a map with an answer to each of {', '.join(questions)}, got {short(values)}")
    for name in values:
        if name not in questions:
            raise AgentError(f"{place}: no question is called {name!r}{did_you_mean(str(name), questions)}")
    missing = [name for name in questions if values.get(name) is None]
    if missing:
        raise AgentError(f"{place}: no answer to {', '.join(missing)}; every row answers every question")
    return {name: _answer(place, name, question, values[name]) for name, question in questions.items()}


def _answer(place: str, name: str, question: Question, value: Any) -> Answer:
    answer: Answer
    if isinstance(question, Noul):
        if not isinstance(value, bool):
            raise AgentError(f"{place}: {name}={value!r}: a yes/no question is answered by True or False")
        answer = NoulAnswer(value=value, rule=place)
    elif isinstance(question, Choice):
        if not isinstance(value, str) or value not in question.options:
            hint = did_you_mean(str(value), question.options) or f"; the options: {', '.join(question.options)}"
            raise AgentError(f"{place}: {name}={value!r} is no option{hint}")
        answer = ChoiceAnswer(choice=value, rule=place)
    else:
        answer = ScoreAnswer(score=value, rule=place)
    try:
        check_answer(name, question, answer)
    except AnswerError as error:
        raise AgentError(f"{place}: {name}={value!r}: {error}") from None
    return answer


def _holds(row: Rule, event: Mapping[str, Any]) -> bool:
    try:
        return row.condition.evaluate(event)
    except TriggerEvaluationError as error:
        # Not false: a row that should have hit would leave its state to a later row, or to the default.
        raise RulesError(f"{row.place} cannot be evaluated: {error}; guard it with has(...)") from None


def _own_name(node: Node) -> str | None:
    """`id` or `type`, which an event has beside its attributes, and a state has not."""
    match node:
        case Event(part="id" | "type" as name) | Has(operand=None, field="id" | "type" as name):
            return name
    return None


def _nodes(node: Node) -> list[Node]:
    return [node, *(each for child in children(node) for each in _nodes(child))]
