"""Decision tables: what their rows decide, and what is wrong with them when the class is made."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from parkway.agents import Agent, AgentError, Choice, DecisionModel, DecisionTable, Noul, Score, definition_of
from parkway.agents.decision_lint import decision_warnings
from parkway.agents.decision_rules import RulesError

ROWS = [
    {"when": "amount > 1000", "queue": "manager", "urgent": True},
    {"when": "text.contains('refund')", "queue": "billing", "urgent": False},
]
DEFAULT = {"queue": "other", "urgent": False}


def decided(table: DecisionTable, state: Any) -> dict[str, Any]:
    return {name: answer.__json_form__() for name, answer in table.rules.decide(state).items()}


def test_the_first_row_that_hits_answers_all_questions() -> None:
    table = DecisionTable(ROWS, default=DEFAULT)
    assert decided(table, {"amount": 2000, "text": "refund"}) == {
        "queue": {"type": "choice", "choice": "manager", "confidence": None, "probabilities": None, "rule": "row 1"},
        "urgent": {"type": "noul", "noul": None, "value": True, "rule": "row 1"},
    }
    assert decided(table, {"amount": 1, "text": "a refund"})["queue"]["choice"] == "billing"
    answer = decided(table, {"amount": 1, "text": "hello"})
    assert (answer["queue"]["choice"], answer["queue"]["rule"]) == ("other", "default")
    assert answer["urgent"] == {"type": "noul", "noul": None, "value": False, "rule": "default"}


def test_columns_are_choices_or_yes_no_questions_unless_they_are_declared() -> None:
    table = DecisionTable(ROWS, default=DEFAULT)
    assert table.questions["queue"] == Choice(["manager", "billing", "other"])
    assert isinstance(table.questions["urgent"], Noul)
    declared = {"anger": Score(["calm", "annoyed", "furious"])}
    scored = DecisionTable([{"when": "true", "anger": 1.5}], questions=declared)
    assert decided(scored, {})["anger"]["score"] == 1.5


class Ticket(BaseModel):
    amount: float
    text: str = ""


class Loose(Ticket):
    model_config = ConfigDict(extra="allow")


def test_names_are_checked_against_a_model_of_the_state(tmp_path: Path) -> None:
    DecisionTable(ROWS, default=DEFAULT, state=Ticket)
    rows = [{"when": "amuont > 1000", "queue": "a"}, {"when": "true", "queue": "b"}]
    with pytest.raises(
        AgentError, match=r"row 1: when='amuont > 1000': Ticket has no field 'amuont' \(did you mean amount"
    ):
        DecisionTable(rows, state=Ticket)
    DecisionTable(rows, state=Loose)
    path = write(tmp_path, "t.csv", "when,q\nhas(tex),a\ntrue,b\n")
    with pytest.raises(AgentError, match=r"'t.csv', line 2: .*Ticket has no field 'tex'"):
        DecisionTable.from_file(path, state=Ticket)
    with pytest.raises(AgentError, match="a pydantic model of the state"):
        DecisionTable(rows, state=dict)


def test_rows_that_can_never_hit_are_warned_of() -> None:
    first = [
        {"when": "amount > 10", "q": "a"},
        {"when": "amount > 10 && vip == true", "q": "b"},
        {"when": "x == 1 && x == 2", "q": "c"},
    ]

    class Both(Agent):
        one = DecisionModel("system_one:x", fallbacks=[DecisionTable(first)])
        two = DecisionTable(first[:2], hit="unique", label="u")

    one_shadow, one_never, two = sorted(decision_warnings(definition_of(Both)))
    assert one_shadow == (
        "decision model 'one': table: row 2: it is never asked for: row 1 hits whenever it does, and comes before it"
    )
    assert "'one': table: row 3 (`x == 1 && x == 2`): it can never be true" in one_never
    assert "'two': u: row 2: it never hits alone: row 1 hits whenever it does" in two
    assert decision_warnings(definition_of(type("Clean", (Agent,), {"one": DecisionTable(ROWS)}))) == []


def test_no_hit_and_no_default_is_no_answer() -> None:
    with pytest.raises(RulesError, match="none of the 2 rows hits, and there is no default"):
        DecisionTable(ROWS).rules.decide({"amount": 1, "text": ""})


def test_unique_names_the_rows_that_hit_together() -> None:
    table = DecisionTable(ROWS, default=DEFAULT, hit="unique")
    assert decided(table, {"amount": 1, "text": "refund"})["queue"]["rule"] == "row 2"
    assert decided(table, {"amount": 1, "text": ""})["queue"]["rule"] == "default"
    with pytest.raises(RulesError, match=r"2 rows hit .* row 1 \(`amount > 1000`\), row 2 \(`text.contains"):
        table.rules.decide({"amount": 2000, "text": "refund"})


def test_a_condition_that_cannot_be_evaluated_is_not_taken_for_false() -> None:
    table = DecisionTable(ROWS, default=DEFAULT)
    with pytest.raises(RulesError, match=r"row 1 cannot be evaluated: .*'amount'.*has\(...\)"):
        table.rules.decide({"text": "refund"})
    guarded = DecisionTable([{"when": "has(amount) && amount > 1", "q": "a"}], default={"q": "b"})
    assert decided(guarded, {})["q"]["choice"] == "b"


@pytest.mark.parametrize(
    ("state", "when"), [("a refund, please", "state.contains('refund')"), (["refund"], "'refund' in state")]
)
def test_a_state_that_is_no_object_is_called_state(state: Any, when: str) -> None:
    assert decided(DecisionTable([{"when": when, "q": "yes"}], default={"q": "no"}), state)["q"]["choice"] == "yes"


def test_members_called_id_and_type_are_read_by_attributes() -> None:
    table = DecisionTable([{"when": "attributes.type == 'vip'", "q": "a"}], default={"q": "b"})
    assert decided(table, {"type": "vip"})["q"]["choice"] == "a"


@pytest.mark.parametrize(
    ("rows", "options", "said"),
    [
        ([], {}, "no rows"),
        ([{"when": "amount >", "q": "a"}], {"default": {"q": "b"}}, "row 1: when='amount >'"),
        ([{"when": "size(text)", "q": "a"}], {"default": {"q": "b"}}, "can never be boolean"),
        ([{"when": "type == 'x'", "q": "a"}], {"default": {"q": "b"}}, "write attributes.type"),
        ([{"when": "has(id)", "q": "a"}], {"default": {"q": "b"}}, "attributes.id"),
        ([{"when": 3, "q": "a"}], {"default": {"q": "b"}}, "row 1: when=3"),
        ([{"when": "x.exists(y, y > 1)", "q": "a"}], {"default": {"q": "b"}}, "exists"),
        ([{"q": "a"}], {"default": {"q": "b"}}, "row 1: no 'when'"),
        ([{"when": "true"}], {}, "decide nothing"),
        ([{"when": "true", "q": "a"}], {}, "'q' has one value only"),
        ([{"when": "true", "q": 3}], {}, "declare it"),
        ([{"when": "a", "q": "a"}, {"when": "b", "p": "b"}], {"questions": {"q": Choice(["a", "b"])}}, "called 'p'"),
        ([{"when": "a == 1", "q": "a", "p": "b"}, {"when": "b", "q": "b"}], {"default": {"q": "a", "p": "c"}},
         "row 2: no answer to p"),
        ([{"when": "true", "q": "ab"}], {"questions": {"q": Choice(["abc", "d"])}}, "did you mean abc"),
        ([{"when": "true", "q": "yes"}], {"questions": {"q": Noul("?")}}, "True or False"),
        ([{"when": "true", "q": 3}], {"questions": {"q": Score(["a", "b"])}}, "row 1: q=3: .*between 0 and 1"),
        ([{"when": "true", "q": True}], {"questions": {"q": Score(["a", "b"])}}, "row 1: q=True"),
        ([{"when": "true", "q": "a"}], {"default": {"q": "c"}, "questions": {"q": Choice(["a", "b"])}}, "default: q='c'"),
        ([{"when": "true", "q": "a"}], {"default": {"q": "b"}, "hit": "any"}, "hit='any'"),
        ([3], {}, "row 1: a map"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_table_names_row_and_reason(rows: Any, options: Any, said: str) -> None:
    with pytest.raises(AgentError, match=said) as caught:
        DecisionTable(rows, **options)
    assert str(caught.value).startswith("DecisionTable")


CSV = """\
when,queue,urgent
amount > 1000,manager,true

"text.contains('refund') && text.matches('a, b')",billing,no
default,other,false
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_table_from_csv(tmp_path: Path) -> None:
    table = DecisionTable.from_file(write(tmp_path, "routing.csv", "\ufeff" + CSV))
    assert table.rules.label == "routing.csv"
    assert decided(table, {"amount": 2000, "text": ""})["urgent"] == {
        "type": "noul", "noul": None, "value": True, "rule": "line 2",
    }  # fmt: skip
    assert decided(table, {"amount": 1, "text": "refund a, b"})["queue"]["rule"] == "line 4"
    assert decided(table, {"amount": 1, "text": ""})["queue"]["choice"] == "other"
    assert table.rules.hit == "first"
    assert DecisionTable.from_file(tmp_path / "routing.csv", hit="unique").rules.hit == "unique"


def test_declared_questions_say_what_a_cell_is(tmp_path: Path) -> None:
    text = "when,answer,level,ok\ntrue,yes,2,YES\n"
    questions = {"answer": Choice(["yes", "no"]), "level": Score(["a", "b", "c"]), "ok": Noul("?")}
    table = DecisionTable.from_file(write(tmp_path, "t.csv", text), questions=questions)
    answers = decided(table, {})
    assert (answers["answer"]["choice"], answers["level"]["score"], answers["ok"]["value"]) == ("yes", 2, True)


YAML = """\
hit: unique
questions:
  queue: {type: choice, criteria: [manager, billing, other]}
  anger: {type: score, criteria: [calm, annoyed, furious]}
rows:
  - {when: amount > 1000, queue: manager, anger: 2}
  - when: |
      text.contains('refund')
      && amount <= 1000
    queue: billing
    anger: 0
default: {queue: other, anger: 0}
"""


def test_a_table_from_yaml(tmp_path: Path) -> None:
    table = DecisionTable.from_file(write(tmp_path, "routing.yaml", YAML))
    assert table.rules.hit == "unique"
    answers = decided(table, {"amount": 2000, "text": "refund"})
    assert (answers["queue"]["choice"], answers["anger"]["score"]) == ("manager", 2)
    assert decided(table, {"amount": 1, "text": "refund"})["queue"]["rule"] == "row 2"
    with pytest.raises(AgentError, match="hit stands in the file and in the code"):
        DecisionTable.from_file(tmp_path / "routing.yaml", hit="first")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("t.txt", "", "ends in .csv, .yaml, .yml"),
        ("t.csv", "", "it is empty"),
        ("t.csv", "condition,queue\n", "no column 'when'"),
        ("t.csv", "when,queue,queue\n", "column 'queue'"),
        ("t.csv", "when,queue\na == 1,b,c\n", "line 2: 3 cells for 2 columns; quote"),
        ("t.csv", "when,queue\ndefault,b\na == 1,c\n", "line 3: the row 'default' is the last one"),
        ("t.csv", "when,queue\namount >,b\nx == 1,c\n", "line 2: when='amount >'"),
        ("t.csv", "when,queue\nx == 1,\ny == 1,b\ny == 2,c\n", "line 2: no answer to queue"),
        ("t.csv", 'when,queue\n"a == 1,b\n', "unexpected end"),
        ("t.yaml", "- a", "a map with questions, rows"),
        ("t.yaml", "rows: {", "t.yaml: while parsing"),
        ("t.yaml", "rows: [{when: a == 1, q: b}]\nhits: first\n", r"unknown member 'hits' \(did you mean hit"),
        ("t.yaml", "rows: 3", "rows: a list of maps"),
        ("t.yaml", "rows: [{when: a == 1, q: b}]\nquestions: {q: {type: poem}}\n", "question 'q': type 'poem'"),
    ],
)
def test_what_is_wrong_with_a_file_names_file_place_and_reason(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(AgentError, match=said) as caught:
        DecisionTable.from_file(write(tmp_path, name, text))
    assert name in str(caught.value)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(AgentError, match=r"missing.csv: .*No such file.*Path\(__file__\)"):
        DecisionTable.from_file("missing.csv")
