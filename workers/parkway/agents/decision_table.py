"""`DecisionTable`: a decision model of rows, each a CEL condition and what it decides. No network, no key."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args

from pydantic import BaseModel

from parkway.agents.decision_model import DecisionModel
from parkway.agents.decision_rules import DEFAULT, HitPolicy, Rule, Rules, Values, compiled_rule, read_values
from parkway.agents.errors import AgentError
from parkway.agents.table_file import read_table
from parkway.schemas.decision_questions import Choice, Noul, Question, QuestionError, checked_questions
from parkway.schemas.json_form import short

WHEN: Final = "when"

Rows = Sequence[Mapping[str, Any]]


class DecisionTable(DecisionModel):
    """A table that answers its questions by rows, the first one that hits, or the only one.

        queue = DecisionTable(
            [
                {"when": "amount > 1000", "queue": "manager"},
                {"when": "text.contains('refund')", "queue": "billing"},
            ],
            default={"queue": "other"},
        )

    `when` is CEL as in triggers; bare names are members of the decision's state (a state that is no object is
    called `state`). Every row answers every question. With `hit="unique"` two rows that hit are a failed response
    which names them, and so is, in any table without `default`, a state that no row hits. A condition that cannot
    be evaluated (a field is missing) is a failure as well, never "does not hit": guard it with `has(...)`.

    Without `questions` every column is a choice among the values that stand in it, or a yes/no question where
    they are True and False. Probabilities are null: a rule has none.

    `state` is a pydantic model of the state: names in conditions must be its fields, so that a misspelt one is found
    here and not by a failed response. `label` names the table in messages, metrics and answers, `places` its rows.
    Raises AgentError that names the row and the reason.
    """

    def __init__(
        self,
        rows: Rows,
        *,
        questions: Mapping[str, Question] | None = None,
        default: Values | None = None,
        hit: HitPolicy = "first",
        state: type[BaseModel] | None = None,
        fallbacks: Sequence[Any] = (),
        label: str = "table",
        places: Sequence[str] | None = None,
    ) -> None:
        named = places if places is not None else [f"row {number}" for number in range(1, len(rows) + 1)]
        self.rules = _compiled(label, rows, named, questions, default, hit, state)
        super().__init__(self.rules, questions=self.rules.questions, fallbacks=fallbacks)

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        *,
        questions: Mapping[str, Question] | None = None,
        hit: HitPolicy | None = None,
        state: type[BaseModel] | None = None,
        fallbacks: Sequence[Any] = (),
    ) -> "DecisionTable":
        """Read a table from a `.csv`, `.yaml` or `.yml` file, when the class is made.

        Give a path from the module, `Path(__file__).with_name("routing.csv")`: workers are started anywhere. CSV has
        a column `when` and one for each question; a last row with `default` for its condition is the default. YAML
        has `rows`, and may have `questions` (in their wire form), `default` and `hit`, which need not stand in the
        code then. Raises AgentError that names the file, the line or row, and the reason.
        """
        try:
            declared = checked_questions(questions) if questions is not None else None
        except QuestionError as error:
            raise AgentError(f"DecisionTable {str(path)!r}: {error}") from None
        file = read_table(Path(path), declared)
        if hit is not None and file.hit is not None:
            raise AgentError(f"DecisionTable {file.path.name!r}: hit stands in the file and in the code; keep one")
        return cls(
            file.rows,
            questions=file.questions,
            default=file.default,
            hit=hit or file.hit or "first",
            state=state,
            fallbacks=fallbacks,
            label=file.path.name,
            places=file.places,
        )

    def __repr__(self) -> str:
        return f"DecisionTable({self.rules.label}, {len(self.rules.rows)} rows)"


def _compiled(
    label: str,
    rows: Rows,
    places: Sequence[str],
    questions: Mapping[str, Any] | None,
    default: Any,
    hit: Any,
    state: type[BaseModel] | None,
) -> Rules:
    where = f"DecisionTable {label!r}" if label != "table" else "DecisionTable"
    if hit not in get_args(HitPolicy):
        raise AgentError(f"{where}: hit={hit!r}: 'first' or 'unique'")
    if state is not None and not (isinstance(state, type) and issubclass(state, BaseModel)):
        raise AgentError(f"{where}: state={state!r}: a pydantic model of the state, or leave it out")
    if not rows:
        raise AgentError(f"{where}: no rows; write some, such as {{'when': 'amount > 100', 'queue': 'manager'}}")
    for place, row in zip(places, rows, strict=True):
        if not isinstance(row, Mapping):
            raise AgentError(f"{where}, {place}: a map with 'when' and the answers, got {short(row)}")
        if WHEN not in row:
            raise AgentError(f"{where}, {place}: no 'when': a CEL condition; for what no row hits, give default=")
    asked = _questions(where, rows, questions, default)
    try:
        compiled = tuple(_rule(place, row, asked, state) for place, row in zip(places, rows, strict=True))
        otherwise = read_values(DEFAULT, default, asked) if default is not None else None
    except AgentError as error:
        raise AgentError(f"{where}, {error}") from error
    return Rules(label, asked, compiled, otherwise, hit)


def _rule(place: str, row: Mapping[str, Any], questions: Mapping[str, Question], state: type[BaseModel] | None) -> Rule:
    values = {name: value for name, value in row.items() if name != WHEN}
    return compiled_rule(place, row[WHEN], values, questions, state)


def _questions(where: str, rows: Rows, questions: Mapping[str, Any] | None, default: Any) -> dict[str, Question]:
    """Those that are declared, or one for each column."""
    try:
        if questions is not None:
            return checked_questions(questions)
        given = [*rows, *([default] if isinstance(default, Mapping) else [])]
        names = dict.fromkeys(name for row in given for name in row if name != WHEN)
        if not names:
            raise AgentError(f"{where}: the rows decide nothing; give them an answer beside 'when'")
        return {name: _question(name, [row[name] for row in given if row.get(name) is not None]) for name in names}
    except QuestionError as error:
        raise AgentError(f"{where}: {error}") from None


def _question(name: str, values: Sequence[Any]) -> Question:
    if all(isinstance(value, bool) for value in values):
        return Noul(name)
    if all(isinstance(value, str) for value in values):
        options = dict.fromkeys(values)
        if len(options) < 2:
            raise QuestionError(f"column {name!r} has one value only; declare its options by questions=")
        return Choice(options)
    raise QuestionError(
        f"column {name!r} holds {short(values[0])}: only text and True/False say by themselves what is asked; "
        f"declare it, as in questions={{{name!r}: Score([...])}}"
    )
