"""The decision action without a network: functions, tables, requests that cannot be read, limits, cancellation."""

import asyncio
import time
from typing import Any

import pytest

from parkway.agents import (
    AgentError,
    Choice,
    ChoiceAnswer,
    DecisionModel,
    DecisionTable,
    Noul,
    NoulAnswer,
    Retry,
    Score,
)
from parkway.schemas.events import DecisionRequestEvent, DecisionResponseEvent, Event
from parkway.workers.actions.decision import DecisionAction
from parkway.workers.effects import PoisonError, Task
from parkway.workers.limiter import Limiter
from parkway.workers.model_limits import limiter_of
from parkway.workers.share import Share

SPAM = {"spam": Noul("Is it spam?")}
ALL = {**SPAM, "queue": Choice(["billing", "other"]), "anger": Score(["calm", "furious"])}


def task(attributes: Any = None, seconds: float = 30, **given: Any) -> Task:
    if attributes is None:
        event = DecisionRequestEvent(id="r-1", model="judge", **{"state": "hello", **given}).to_dict()
    else:
        event = {"id": "r-1", "type": "_decision_request_event", "attributes": attributes}
    return Task(event, int((time.time() + seconds) * 1000))


def action(judge: DecisionModel, **options: Any) -> DecisionAction:
    return DecisionAction({"judge": judge}, backoff=Retry(backoff=0.001), **options)


async def response(judge: DecisionModel, given: Task, **options: Any) -> DecisionResponseEvent:
    effects = await action(judge, **options).handle(given)
    assert isinstance(effects.response, DecisionResponseEvent)
    return effects.response


async def failed(judge: DecisionModel, given: Task, kind: str, **options: Any) -> str:
    event = await response(judge, given, **options)
    assert not event.success
    assert event.answers == {}
    assert event.error is not None
    assert event.error.type == kind, event.error
    return event.error.message


async def test_a_function_answers_in_short_forms() -> None:
    async def judge(state: Any) -> dict[str, Any]:
        return {"spam": True, "queue": "billing", "anger": 0.5}

    event = await response(DecisionModel.of(judge, questions=ALL), task(user_context={"a": [1]}))
    assert event.success
    assert event.answers == {
        "spam": {"type": "noul", "noul": None, "value": True},
        "queue": {"type": "choice", "choice": "billing", "confidence": None, "probabilities": None},
        "anger": {"type": "score", "score": 0.5, "confidence": None, "probabilities": None},
    }
    assert event.usage == {"model_name": "judge"}
    assert event.user_context == {"a": [1]}


async def test_a_sync_function_answers_typed_and_is_given_the_questions() -> None:
    seen: list[Any] = []

    def judge(state: Any, questions: Any) -> dict[str, Any]:
        seen.append((state, questions))
        queue = ChoiceAnswer(choice="other", probabilities={"billing": 0.2, "other": 0.8})
        return {"spam": NoulAnswer(noul=0.25), "queue": queue, "anger": 1}

    given = task(state={"a": 1}, questions=ALL, user_context={"not": "seen"})
    event = await response(DecisionModel.of(judge), given)
    assert event.noul("spam").noul == 0.25
    assert event.choice("queue").probabilities == {"billing": 0.2, "other": 0.8}
    assert seen == [({"a": 1}, ALL)]


async def test_questions_of_the_request_go_over_those_of_the_model() -> None:
    def judge(state: Any, questions: Any) -> dict[str, Any]:
        return {name: question.instructions == "Mine?" for name, question in questions.items()}

    given = task(questions={"spam": Noul("Mine?"), "vip": Noul("Important?")})
    event = await response(DecisionModel.of(judge, questions={**SPAM, "late": Noul("Late?")}), given)
    assert {name: answer["value"] for name, answer in event.answers.items()} == {
        "spam": True, "late": False, "vip": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "a NoneType, not a map"),
        ({}, "no answer to 'spam'"),
        ({"spam": True, "more": True}, "'more'"),
        ({"spam": "yes"}, "question 'spam' asks for a yes/no answer|answered 'spam' with a str"),
        ({"spam": 1.5}, "between 0 and 1"),
        ({"spam": 10**400}, "a number that is too large"),
        ({"spam": None}, "answered 'spam' with a NoneType"),
    ],
)
async def test_a_function_that_answers_something_else_fails(given: Any, said: str) -> None:
    def judge(state: Any) -> Any:
        return given

    message = await failed(DecisionModel.of(judge, questions=SPAM), task(), "output_invalid")
    import re

    assert re.search(said, message), message


async def test_a_function_that_raises_fails_and_is_quoted_only_when_content_may_be_captured() -> None:
    def judge(state: Any) -> dict[str, Any]:
        raise ValueError(f"cannot judge {state}")

    model = DecisionModel.of(judge, questions=SPAM)
    plain = await failed(model, task(state="my secret", user_context={"a": 1}), "internal")
    assert "ValueError" in plain
    assert "secret" not in plain
    assert "my secret" in await failed(model, task(state="my secret"), "internal", capture_content=True)


async def test_a_function_is_retried_only_after_errors_that_may_pass_and_if_asked() -> None:
    calls: list[int] = []

    async def judge(state: Any) -> dict[str, Any]:
        calls.append(1)
        if len(calls) < 3:
            raise ConnectionError("away")
        return {"spam": False}

    event = await response(DecisionModel.of(judge, questions=SPAM, max_retries=2), task())
    assert event.success
    assert (event.retry_count, len(calls)) == (2, 3)
    calls.clear()
    await failed(DecisionModel.of(judge, questions=SPAM), task(), "provider_error")
    assert len(calls) == 1


async def test_a_function_that_takes_too_long_is_a_timeout() -> None:
    async def judge(state: Any) -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    await failed(DecisionModel.of(judge, questions=SPAM, timeout=0.05), task(), "timeout")
    await failed(DecisionModel.of(judge, questions=SPAM), task(seconds=0.05), "deadline_exceeded")


async def test_a_function_whose_own_task_was_cancelled_fails() -> None:
    async def judge(state: Any) -> dict[str, Any]:
        raise asyncio.CancelledError

    await failed(DecisionModel.of(judge, questions=SPAM), task(), "internal")


async def test_what_a_function_does_to_the_state_the_next_source_does_not_see() -> None:
    def first(state: Any) -> dict[str, Any]:
        state["a"] = 2
        raise ValueError

    table = DecisionTable([{"when": "a == 1", "spam": False}], questions=SPAM)
    event = await response(DecisionModel.of(first, questions=SPAM, fallbacks=[table]), task(state={"a": 1}))
    assert event.noul("spam").value is False


async def test_rules_first_and_a_function_for_what_they_do_not_decide() -> None:
    def judge(state: Any) -> dict[str, Any]:
        return {"spam": 0.5}

    rows = [{"when": "state.contains('viagra')", "spam": True}]
    table = DecisionTable(rows, questions=SPAM, fallbacks=[DecisionModel.of(judge)])
    by_rule = await response(table, task(state="viagra"))
    assert by_rule.answers["spam"] == {"type": "noul", "noul": None, "value": True, "rule": "row 1"}
    assert (by_rule.usage, by_rule.retry_count) == ({"model_name": "table"}, 0)
    by_model = await response(table, task())
    assert by_model.noul("spam").noul == 0.5
    assert by_model.usage == {"model_name": "judge"}


async def test_a_table_without_an_answer_is_a_failed_response_that_says_so() -> None:
    rows = [{"when": "n > 1", "spam": True}, {"when": "n > 2", "spam": False}]
    table = DecisionTable(rows, questions=SPAM, hit="unique", label="rules")
    context = {"user_context": {"a": 1}}
    event = await response(table, task(state={"n": 0}, **context))
    assert event.error is not None
    assert event.error.type == "provider_error"
    assert "'rules': none of the 2 rows hits, and there is no default" in event.error.message
    assert event.user_context == {"a": 1}
    both = await failed(table, task(state={"n": 3}, **context), "provider_error")
    assert "row 1 (`n > 1`), row 2 (`n > 2`)" in both
    assert "row 1 cannot be evaluated" in await failed(table, task(state={}), "provider_error")


async def test_a_table_is_not_asked_what_it_does_not_decide() -> None:
    table = DecisionTable([{"when": "true", "spam": True}], questions=SPAM)
    message = await failed(table, task(questions={"vip": Noul("?")}), "bad_request")
    assert "answers spam, not 'vip'" in message
    other = await failed(table, task(questions={"spam": Choice(["a", "b"])}), "output_invalid")
    assert "'spam' asks for a choice" in other


@pytest.mark.parametrize(
    ("attributes", "kind", "said"),
    [
        ({"state": 1, "questions": {}}, "bad_request", "model is missing"),
        ({"model": "judge", "questions": {}}, "bad_request", "state is missing"),
        ({"model": "jugde", "state": 1, "questions": {}}, "unknown_model", "did you mean judge"),
        ({"model": "judge", "state": 1, "questions": {}, "user": 1}, "bad_request", "unknown attribute 'user'"),
        ({"model": "judge", "state": 1, "questions": []}, "bad_request", "questions"),
        ({"model": "judge", "state": 1, "questions": {"q": {"type": "poem"}}}, "bad_request", "question 'q'"),
        ({"model": "judge", "state": 1, "questions": {" ": {"type": "noul"}}}, "bad_request", "no name"),
        ({"model": "judge", "state": 1, "questions": {}}, "bad_request", "no questions"),
        ("nonsense", "bad_request", "attributes"),
    ],
)
async def test_a_request_that_cannot_be_read_is_answered_and_keeps_its_user_context(
    attributes: Any, kind: str, said: str
) -> None:
    model = DecisionModel.of(lambda state: {"q": True})
    if isinstance(attributes, dict):
        attributes = {**attributes, "user_context": {"a": 1}}
    message = await failed(model, task(attributes), kind)
    assert said in message
    event = await response(model, task(attributes))
    assert event.user_context == ({"a": 1} if isinstance(attributes, dict) else None)
    assert event.request_id == "r-1"


@pytest.mark.parametrize("context", [None, {}, {"when": None, "n": [1, {"x": "é"}]}])
async def test_user_context_is_echoed_as_it_came(context: Any) -> None:
    model = DecisionModel.of(lambda state: {"spam": True}, questions=SPAM)
    given = {} if context is None else {"user_context": context}
    event = await response(model, task(**given))
    assert ("user_context" in event.to_dict()["attributes"]) is (context is not None)
    assert event.user_context == context


async def test_the_other_ends_of_a_request() -> None:
    decision = action(DecisionModel.of(lambda state: {"spam": True}, questions=SPAM))
    given = task(user_context={"a": 1})
    ends = {
        "deadline_exceeded": decision.expired(given),
        "cancelled": decision.cancelled(given, "changed my mind"),
        "internal": decision.failed(given, PoisonError("it killed its process")),
    }
    for kind, effects in ends.items():
        event = effects.response
        assert isinstance(event, DecisionResponseEvent)
        assert (event.request_id, event.model, event.success, event.user_context) == ("r-1", "judge", False, {"a": 1})
        assert event.error is not None
        assert event.error.type == kind
        assert Event.parse(event.to_json()) == event
    assert "changed my mind" in str(ends["cancelled"].response.to_dict())


async def test_the_limits_of_a_model_hold_for_each_of_its_calls() -> None:
    calls: list[float] = []

    async def judge(state: Any) -> dict[str, Any]:
        calls.append(time.monotonic())
        raise ConnectionError

    model = DecisionModel.of(judge, questions=SPAM, max_retries=1, requests_per_minute=600)
    limiter = limiter_of("judge", model)
    assert isinstance(limiter, Limiter)
    assert limiter.name == "decision model judge"
    limiter.own(Share(frozenset({0}), 100))  # 6 a minute, one at once
    limited = action(model, limiters={"judge": limiter})
    given = task(seconds=1)
    assert limited.limiter(given) is limiter
    given.permit = limiter.try_take()
    effects = await limited.handle(given)
    assert isinstance(effects.response, DecisionResponseEvent)
    assert effects.response.error is not None
    assert effects.response.error.type == "deadline_exceeded"  # the second call had to wait
    assert len(calls) == 1
    assert limited.limiter(task({"model": 3})) is None
    assert limited.limiter(task("nonsense")) is None


def no_state() -> dict[str, Any]:
    return {}


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: DecisionModel("jev"), "'provider:model'"),
        (lambda: DecisionModel("openai:gpt-5"), "chat models are none"),
        (lambda: DecisionModel("system_on:jev"), "did you mean system_one"),
        (lambda: DecisionModel(lambda state: {}), r"DecisionModel.of\("),
        (lambda: DecisionModel(3), "a name such as"),
        (lambda: DecisionModel("system_one:x", fallbacks="system_one:y"), "a list"),
        (lambda: DecisionModel("system_one:x", timeout=0), "timeout=0"),
        (lambda: DecisionModel("system_one:x", max_retries=-1), "max_retries=-1"),
        (lambda: DecisionModel("system_one:x", concurrency=True), "concurrency=True"),
        (lambda: DecisionModel("system_one:x", questions={"q": {"type": "poem"}}), "question 'q'"),
        (lambda: DecisionModel("system_one:x", questions=[Noul("?")]), "a map of names"),
        (lambda: DecisionModel.of(no_state), "not of 0 parameters"),
        (lambda: DecisionModel.of("f"), "a function of the state"),
    ],
)
def test_a_model_that_makes_no_sense_is_refused_when_the_class_is_made(make: Any, said: str) -> None:
    with pytest.raises(AgentError, match=said):
        make()
