"""Questions and answers of decisions: their wire form, and what is read of a response."""

from typing import Any

import pytest

from parkway.schemas.chat_events import ErrorInfo
from parkway.schemas.decision_answers import (
    AnswerError,
    ChoiceAnswer,
    NoulAnswer,
    ScoreAnswer,
    check_answers,
)
from parkway.schemas.decision_events import DecisionFailedError
from parkway.schemas.decision_questions import Choice, Noul, QuestionError, Score, read_question
from parkway.schemas.events import DecisionRequestEvent, DecisionResponseEvent, Event

WIRE = [
    (Noul("Spam?"), {"type": "noul", "instructions": "Spam?"}),
    (Noul(yes="spam", no={"not": "spam"}), {"type": "noul", "criteria": {"true": "spam", "false": {"not": "spam"}}}),
    (Choice(["a", "b"], "Which?"), {"type": "choice", "instructions": "Which?", "criteria": {"a": None, "b": None}}),
    (Choice({"a": "first", "b": None}), {"type": "choice", "criteria": {"a": "first", "b": None}}),
    (Score(["low", "high"], ["How", "much?"]),
     {"type": "score", "instructions": ["How", "much?"], "criteria": ["low", "high"]}),
]  # fmt: skip


@pytest.mark.parametrize(("question", "wire"), WIRE)
def test_a_question_and_its_wire_form(question: Any, wire: Any) -> None:
    request = DecisionRequestEvent(model="m", state=1, questions={"q": question})
    assert request.questions == {"q": wire}
    again = Event.parse(request.to_json())
    assert isinstance(again, DecisionRequestEvent)
    assert read_question("q", again.questions["q"]) == question


@pytest.mark.parametrize("alias", ["boolean", "predicate", "yes_no"])
def test_other_words_for_the_same(alias: str) -> None:
    assert read_question("q", {"type": alias, "instructions": "?"}) == Noul("?")
    assert read_question("q", {"type": "scale", "criteria": ["a", "b"]}) == Score(["a", "b"])
    assert read_question("q", {"type": "choice", "criteria": ["a", "b"]}) == Choice(["a", "b"])


@pytest.mark.parametrize(
    ("wire", "said"),
    [
        (3, "expected an object"),
        ({}, "type None: one of noul, choice, score"),
        ({"type": "nuol", "instructions": "?"}, "did you mean 'noul'"),
        ({"type": "noul"}, "asks nothing"),
        ({"type": "noul", "instructions": 3}, "instructions: text"),
        ({"type": "noul", "criteria": {"yes": "x"}}, "true and false"),
        ({"type": "noul", "instructions": "?", "policy": 1}, "unknown member 'policy'"),
        ({"type": "choice"}, "criteria: a map of options"),
        ({"type": "choice", "criteria": ["a"]}, "two options or more"),
        ({"type": "choice", "criteria": ["a", "a"]}, "'a' stands there twice"),
        ({"type": "choice", "criteria": ["a", 3]}, "option is text, not a number"),
        ({"type": "score", "criteria": {"a": 1}}, "criteria: a list"),
        ({"type": "score", "criteria": ["a"]}, "two levels or more"),
    ],
)
def test_a_bad_question_is_named(wire: Any, said: str) -> None:
    with pytest.raises(QuestionError, match=said) as caught:
        read_question("spam", wire)
    assert str(caught.value).startswith("question 'spam': ")


def test_a_request_may_leave_the_questions_to_its_model() -> None:
    assert DecisionRequestEvent(model="m", state=1).to_dict()["attributes"] == {
        "model": "m",
        "state": 1,
        "questions": {},
    }
    body = {"id": "1", "type": "_decision_request_event", "attributes": {"model": "m", "state": 1}}
    assert Event.parse(body).to_dict()["attributes"] == {"model": "m", "state": 1}


QUESTIONS = {"yes": Noul("?"), "pick": Choice(["a", "b"]), "rate": Score(["x", "y", "z"])}
FINE = {
    "yes": NoulAnswer(value=True),
    "pick": ChoiceAnswer(choice="a", probabilities={"a": 0.5, "b": 0.5}),
    "rate": ScoreAnswer(score=2),
}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"yes": None}, "no answer to 'yes'"),
        ({"more": NoulAnswer(noul=1)}, "what nobody asked"),
        ({"yes": ChoiceAnswer(choice="a")}, "question 'yes' asks for a yes/no answer, and got ChoiceAnswer"),
        ({"yes": NoulAnswer()}, "neither a probability nor a value"),
        ({"yes": NoulAnswer(noul=float("nan"))}, "between 0 and 1"),
        ({"yes": NoulAnswer(noul=True)}, "between 0 and 1"),
        ({"pick": ChoiceAnswer(choice="c")}, "none of the options"),
        ({"pick": ChoiceAnswer(choice="a", confidence=2)}, "confidence"),
        ({"pick": ChoiceAnswer(choice="a", probabilities={"a": 1})}, "not those of the options"),
        ({"pick": ChoiceAnswer(choice="a", probabilities={"a": 0.9, "b": 0.09})}, None),
        ({"pick": ChoiceAnswer(choice="a", probabilities={"a": 0.9, "b": 0.08})}, "sum to 1"),
        ({"rate": ScoreAnswer(score=-0.1)}, "between 0 and 2"),
        ({"rate": ScoreAnswer(score=1, probabilities={"0": 0, "1": 1})}, "not those of the levels"),
    ],
)
def test_answers_that_do_not_fit_their_questions(changed: Any, said: str | None) -> None:
    check_answers(QUESTIONS, FINE)
    answers = {name: answer for name, answer in {**FINE, **changed}.items() if answer is not None}
    if said is None:
        check_answers(QUESTIONS, answers)
        return
    with pytest.raises(AnswerError, match=said):
        check_answers(QUESTIONS, answers)


def response(**attributes: Any) -> DecisionResponseEvent:
    event = DecisionResponseEvent(request_id="r", model="m", **attributes)
    read = Event.parse(event.to_json())
    assert isinstance(read, DecisionResponseEvent)
    return read


def test_answers_are_read_typed() -> None:
    event = response(answers={**FINE, "sure": NoulAnswer(noul=0.7)})
    assert event.choice("pick") == FINE["pick"]
    assert event.choice("pick").probability == 0.5
    assert event.score("rate").score == 2
    assert event.score("rate").probabilities is None
    assert event.noul("yes").noul is None
    assert event.noul("sure").yes(at=0.7)
    assert not event.noul("sure").yes(at=0.71)
    assert event.noul("yes").yes(at=0.99)  # a rule's answer has no probability: it is what it says


def test_reading_what_is_not_there_or_of_another_kind() -> None:
    event = response(answers=FINE)
    with pytest.raises(AnswerError, match="no answer 'spam'; there are: yes, pick, rate"):
        event.noul("spam")
    with pytest.raises(AnswerError, match=r"answer 'pick' is a choice: read it with event.choice\('pick'\)"):
        event.noul("pick")
    with pytest.raises(AnswerError, match="answer 'q': type 'box'"):
        response(answers={"q": {"type": "box"}}).noul("q")
    with pytest.raises(AnswerError, match="a choice without its member 'choice'"):
        response(answers={"q": {"type": "choice"}}).choice("q")


def test_reading_a_failed_response_raises_and_a_partial_one_unless_asked() -> None:
    error = ErrorInfo(type="refused", message="no")
    partial = response(success=False, error=error, answers={"pick": FINE["pick"]})
    with pytest.raises(DecisionFailedError, match="refused: no") as caught:
        partial.choice("pick")
    assert caught.value.error.type == "refused"
    assert partial.choice("pick", partial=True).choice == "a"
    with pytest.raises(DecisionFailedError):
        partial.noul("yes", partial=True)


def test_members_that_a_later_version_adds_are_ignored() -> None:
    event = response(answers={"q": {"type": "noul", "noul": 0.5, "label_mass": 1}})
    assert event.noul("q") == NoulAnswer(noul=0.5)
    assert event.answers["q"]["label_mass"] == 1
