"""The decision action through pydantic-ai's clients, against a server on this machine that answers as told."""

import asyncio
import json
import math
import socket
import sys
import time
from collections.abc import Iterator
from email.utils import formatdate
from typing import Any

import pytest
from decision_server import CUT, HANG, Host, choice, error, noul, openai, score, system_one

from parkway.agents import Choice, DecisionLimits, DecisionModel, DecisionTable, Noul, Retry, Score
from parkway.schemas.events import DecisionRequestEvent, DecisionResponseEvent
from parkway.workers.actions.decision import DecisionAction
from parkway.workers.effects import Effects, Task

KEY = "sk-test-abcdef123456"
SYSTEM_ONE = "system_one:jev-1.14"
OPENAI = "openai_decisions:gpt-6-luna"
QUESTIONS = {
    "refund": Noul("Does the customer want money back?", yes="money back", no="anything else"),
    "queue": Choice({"billing": "money", "other": None}, "Which queue?"),
    "anger": Score(["calm", "annoyed", "furious"]),
}
GOOD = system_one(
    refund=noul(0.97),
    queue=choice("billing", 0.8, billing=0.9, other=0.1),
    anger=score(1.5, 0.1, 0.3, 0.6),
)
PREDICATE = {"type": "predicate", "name": "refund", "probability": 0.97}
PICKED = {
    "type": "choice",
    "name": "queue",
    "choice": "billing",
    "confidence": 0.8,
    "probabilities": [{"value": "billing", "probability": 0.9}, {"value": "other", "probability": 0.1}],
}
RATED = {
    "type": "score",
    "name": "anger",
    "score": 1.5,
    "confidence": 0.5,
    "probabilities": [
        {"value": 0, "label": "calm", "probability": 0.1},
        {"value": 1, "label": "annoyed", "probability": 0.3},
        {"value": 2, "label": "furious", "probability": 0.6},
    ],
}


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    running = Host()
    for name in ("SYSTEM_ONE", "OPENAI"):
        monkeypatch.setenv(f"{name}_API_KEY", KEY)
        monkeypatch.setenv(f"{name}_BASE_URL", running.url)
    yield running
    running.stop()


def action(model: Any = SYSTEM_ONE, *, capture_content: bool = False, max_backoff: float = 5.0, **options: Any) -> Any:
    judge = DecisionModel(model, **options)
    backoff = Retry(backoff=0.001, max_backoff=max_backoff)
    return DecisionAction({"judge": judge}, capture_content=capture_content, backoff=backoff)


def new(seconds: float = 30, questions: Any = QUESTIONS, **attributes: Any) -> Task:
    given = {"state": {"text": "Refund me now!"}, **attributes}
    request = DecisionRequestEvent(id="r-1", model="judge", questions=questions, **given)
    return Task(request.to_dict(), int((time.time() + seconds) * 1000))


def response_of(effects: Effects) -> DecisionResponseEvent:
    assert isinstance(effects.response, DecisionResponseEvent)
    assert effects.response.request_id == "r-1"
    return effects.response


async def response(deciding: DecisionAction, task: Task | None = None) -> DecisionResponseEvent:
    return response_of(await deciding.handle(task or new()))


async def failure(deciding: DecisionAction, kind: str, task: Task | None = None) -> str:
    failed = await response(deciding, task)
    assert not failed.success
    assert failed.answers == {}
    assert failed.error is not None
    assert failed.error.type == kind, failed.error
    return failed.error.message


async def test_system_one_answers_every_kind_of_question(host: Host) -> None:
    host.script = [GOOD]
    answered = await response(action(), new(user_context={"secret": "context"}))
    assert answered.success
    assert answered.answers == {
        "refund": {"type": "noul", "noul": 0.97},
        "queue": {
            "type": "choice",
            "choice": "billing",
            "confidence": 0.8,
            "probabilities": {"billing": 0.9, "other": 0.1},
        },
        "anger": {
            "type": "score",
            "score": 1.5,
            "confidence": 0.5,
            "probabilities": {"0": 0.1, "1": 0.3, "2": 0.6},
            "legend": {"0": "level 0", "1": "level 1", "2": "level 2"},
        },
    }
    assert answered.usage == {"model_name": "jev-1.14.3", "promptTokens": 7, "completionTokens": 2}
    assert (answered.model, answered.retry_count, answered.error) == ("judge", 0, None)
    assert answered.user_context == {"secret": "context"}
    (asked,) = host.requests
    assert asked == {
        "path": "/v1/systemone",
        "model": "jev-1.14",
        "state": {"text": "Refund me now!"},
        "questions": {
            "refund": {
                "type": "noul",
                "instructions": "Does the customer want money back?",
                "criteria": {"true": "money back", "false": "anything else"},
            },
            "queue": {
                "type": "choice",
                "instructions": "Which queue?",
                "criteria": {"billing": "money", "other": None},
            },
            # System One's schema wants instructions for all.
            "anger": {
                "type": "score",
                "instructions": "Which of these applies?",
                "criteria": ["calm", "annoyed", "furious"],
            },
        },
    }
    assert "context" not in json.dumps(asked)  # contract 6
    assert host.headers[0]["authorization"] == f"Bearer {KEY}"


async def test_openai_decisions_answers_every_kind_of_question(host: Host) -> None:
    host.script = [openai(PREDICATE, PICKED, RATED)]
    answered = await response(action(OPENAI), new(user_context={"secret": "context"}))
    assert answered.success, answered.error
    assert answered.answers["refund"] == {"type": "noul", "noul": 0.97}
    assert answered.answers["queue"]["probabilities"] == {"billing": 0.9, "other": 0.1}
    assert answered.answers["anger"]["legend"] == {"0": "calm", "1": "annoyed", "2": "furious"}
    assert answered.usage == {"model_name": "gpt-6-luna-1", "promptTokens": 11, "completionTokens": 3}
    (asked,) = host.requests
    assert asked["path"] == "/v1/decisions"
    assert [each["name"] for each in asked["questions"]] == ["refund", "queue", "anger"]
    assert json.loads(asked["input"]) == {"text": "Refund me now!"}
    assert "context" not in json.dumps(asked)


async def test_a_refused_question_keeps_the_other_answers(host: Host) -> None:
    host.script = [openai({"type": "refusal", "name": "refund"}, PICKED, RATED), openai(PREDICATE, PICKED, RATED)]
    failed = await response(action(OPENAI, fallbacks=[SYSTEM_ONE]), new(user_context={"a": 1}))
    assert not failed.success
    assert failed.error is not None
    assert failed.error.type == "refused"
    assert failed.error.questions == ["refund"]
    assert set(failed.answers) == {"queue", "anger"}
    assert failed.answers["queue"]["choice"] == "billing"
    assert failed.answers["anger"]["score"] == 1.5
    assert failed.error.usage == {"promptTokens": 11, "completionTokens": 3}
    assert failed.user_context == {"a": 1}
    assert len(host.requests) == 1  # neither repeated nor asked of another until one says yes
    assert failed.choice("queue", partial=True).choice == "billing"


async def test_all_questions_refused_is_a_failure_without_answers(host: Host) -> None:
    host.script = [openai({"type": "refusal", "name": "refund"})]
    message = await failure(action(OPENAI), "refused", new(questions={"refund": QUESTIONS["refund"]}))
    assert "refund" in message


async def test_a_bad_answer_beside_a_refusal_is_not_kept(host: Host) -> None:
    bad = {
        **PICKED,
        "probabilities": [{"value": "billing", "probability": 0.2}, {"value": "other", "probability": 0.1}],
    }
    host.script = [openai({"type": "refusal", "name": "refund"}, bad, RATED)]
    await failure(action(OPENAI), "output_invalid")


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
async def test_errors_that_may_pass_are_retried(host: Host, status: int) -> None:
    host.script = [error(status), GOOD]
    answered = await response(action())
    assert answered.success
    assert (answered.retry_count, len(host.requests)) == (1, 2)


@pytest.mark.parametrize("model", [SYSTEM_ONE, OPENAI])
@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 409, 413, 422, 425])
async def test_a_4xx_other_than_408_and_429_is_never_retried(host: Host, status: int, model: str) -> None:
    detail = [{"loc": ["body", "questions"], "msg": "my secret plan", "type": "value_error"}]
    host.script = [error(status, detail, x_should_retry="true")]
    message = await failure(action(model), "provider_error")
    assert len(host.requests) == 1
    assert str(status) in message
    assert "secret" not in message


async def test_the_detail_of_a_refused_request_is_quoted_when_content_may_be_captured(host: Host) -> None:
    detail = [{"loc": ["body", "questions", "queue", "criteria"], "msg": f"256 options, key {KEY}", "type": "too_long"}]
    host.script = [error(400, detail)]
    message = await failure(action(capture_content=True), "provider_error")
    assert "256 options" in message
    assert "sk-test" not in message


async def test_the_last_error_after_all_attempts(host: Host) -> None:
    host.script = [error(529)]
    failed = await response(action(max_retries=2), new(user_context={"a": 1}))
    assert failed.error is not None
    assert (failed.error.type, failed.error.attempts, failed.retry_count) == ("provider_error", 3, 2)
    assert len(host.requests) == 3
    assert failed.user_context == {"a": 1}
    host.script = [error(429)]
    await failure(action(max_retries=0), "rate_limited")


async def test_the_sdk_does_not_retry_beside_us(host: Host) -> None:
    host.script = [error(500)]
    await failure(action(OPENAI, max_retries=1), "provider_error")
    assert [headers["x-stainless-retry-count"] for headers in host.headers] == ["0", "0"]


async def test_retry_after_ms_goes_before_retry_after(host: Host) -> None:
    host.script = [error(429, retry_after="3600", retry_after_ms="80"), GOOD]
    answered = await response(action())
    assert answered.success
    assert host.times[1] - host.times[0] >= 0.08
    assert 0.08 <= answered.total_retry_wait_sec < 3


async def test_retry_after_in_seconds_or_as_a_date_is_waited_out(host: Host) -> None:
    host.script = [error(503, retry_after="1"), GOOD]
    assert (await response(action())).success
    assert host.times[1] - host.times[0] >= 1
    host.times.clear()
    host.script = [error(429, retry_after=formatdate(time.time() + 2, usegmt=True)), GOOD]
    assert (await response(action())).success
    assert host.times[1] - host.times[0] >= 0.9  # a date has no fractions


async def test_a_retry_after_beyond_the_cap_hands_over_to_the_fallback_at_once(host: Host) -> None:
    host.script = [error(429, retry_after="3600"), openai(PREDICATE, PICKED, RATED)]
    answered = await response(action(fallbacks=[OPENAI]))
    assert answered.success
    assert [request["path"] for request in host.requests] == ["/v1/systemone", "/v1/decisions"]
    assert (answered.retry_count, answered.total_retry_wait_sec) == (1, 0)
    assert answered.usage is not None
    assert answered.usage["model_name"] == "gpt-6-luna-1"


async def test_a_wait_beyond_the_deadline_fails_now_and_names_the_reason(host: Host) -> None:
    host.script = [error(429, retry_after="4")]
    await failure(action(), "rate_limited", new(seconds=2))
    assert len(host.requests) == 1


async def test_fallbacks_are_asked_in_order_and_may_be_tables(host: Host) -> None:
    table = DecisionTable([{"when": "text == ''", "queue": "billing"}], default={"queue": "other"})
    host.script = [error(404), error(422)]
    questions = {"queue": Choice(["billing", "other"])}
    answered = await response(action(fallbacks=[OPENAI, table]), new(questions=questions))
    assert answered.success
    assert answered.answers["queue"]["choice"] == "other"
    assert answered.answers["queue"]["probabilities"] is None
    assert len(host.requests) == 2
    assert answered.retry_count == 2


NOT_ONE = [
    system_one(refund=noul(0.97)),  # answers are missing
    (200, {}, "<html>maintenance</html>"),
    (200, {}, {"answers": {}}),
    (200, {}, []),
    (200, {}, ""),
    system_one(refund=noul(1.2), queue=choice("other", billing=0.1, other=0.9), anger=score(0, 1, 0, 0)),
    system_one(refund=noul(0.2), queue=choice("none", billing=0.1, other=0.9), anger=score(0, 1, 0, 0)),
    system_one(refund=noul(0.2), queue=choice("other", billing=0.1, other=0.8), anger=score(0, 1, 0, 0)),
    system_one(refund=noul(0.2), queue=choice("other", other=1.0), anger=score(0, 1, 0, 0)),
    system_one(refund=noul(0.2), queue=choice("other", billing=-0.1, other=1.1), anger=score(0, 1, 0, 0)),
    system_one(refund=noul(0.2), queue=choice("other", billing=0, other=1), anger=score(2.5, 0, 0, 1)),
    system_one(refund=noul(0.2), queue=choice("other", billing=0, other=1), anger=noul(0.5)),
    system_one(
        refund=noul(0.2), queue=choice("other", billing=0, other=1), anger=score(0, 1, 0, 0), more=noul(0.1)
    ),
    system_one(refund={"type": "poem"}, queue=choice("other", billing=0, other=1), anger=score(0, 1, 0, 0)),
    system_one(refund={"type": "noul", "noul": "NaN"}, queue=choice("other", billing=0, other=1), anger=score(0, 1, 0, 0)),
]  # fmt: skip


@pytest.mark.parametrize("answer", NOT_ONE)
async def test_a_200_with_a_bad_body_is_a_failure_and_not_repeated(host: Host, answer: Any) -> None:
    host.script = [answer]
    await failure(action(), "output_invalid")
    assert len(host.requests) == 1


async def test_the_fallback_is_asked_after_a_bad_body(host: Host) -> None:
    host.script = [NOT_ONE[1], openai(PREDICATE, PICKED, RATED)]
    assert (await response(action(fallbacks=[OPENAI]))).success


@pytest.mark.parametrize(("n", "off", "fits"), [(3, 0.015, True), (3, 0.02, False), (200, 0.9, True)])
async def test_probabilities_sum_to_1_as_far_as_their_rounding_lets_them(
    host: Host, n: int, off: float, fits: bool
) -> None:
    options = [f"o{number}" for number in range(n)]
    probabilities = dict.fromkeys(options, 1 / n - off / n)
    host.script = [system_one(pick=choice("o0", **probabilities))]
    answered = await response(action(), new(questions={"pick": Choice(options)}))
    assert answered.success is fits
    if fits:
        assert answered.answers["pick"]["probabilities"] == probabilities  # as the host sent them


async def test_floats_as_a_softmax_leaves_them_fit(host: Host) -> None:
    raw = [math.exp(x) for x in (0.1, 1.7, 2.3)]
    shares = [one / sum(raw) for one in raw]
    host.script = [system_one(anger=score(shares[1] + 2 * shares[2], *shares))]
    assert (await response(action(), new(questions={"anger": QUESTIONS["anger"]}))).success


async def test_a_cut_connection_is_retried(host: Host) -> None:
    host.script = [CUT, GOOD]
    answered = await response(action())
    assert answered.success
    assert answered.retry_count == 1


async def test_a_slow_host_is_asked_again_and_then_a_timeout(host: Host) -> None:
    host.script = [HANG, GOOD]
    assert (await response(action(timeout=0.3))).success
    host.script = [HANG]
    await failure(action(timeout=0.2, max_retries=1), "timeout")
    assert len(host.requests) == 4


async def test_a_host_that_is_not_there_is_retried(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as bound:  # bound but not listening: every connection is refused
        bound.bind(("127.0.0.1", 0))
        monkeypatch.setenv("SYSTEM_ONE_BASE_URL", f"http://127.0.0.1:{bound.getsockname()[1]}")
        failed = await response(action(max_retries=2))
    assert failed.error is not None
    assert (failed.error.type, failed.error.attempts) == ("provider_error", 3)


async def test_the_deadline_ends_a_call_in_flight_and_says_so(host: Host) -> None:
    host.script = [HANG]
    effects = await action().handle(new(seconds=0.4, user_context={"a": 1}))
    failed = response_of(effects)
    assert failed.error is not None
    assert failed.error.type == "deadline_exceeded"
    assert failed.user_context == {"a": 1}
    assert [(entry.outcome, entry.attempt) for entry in effects.journal] == [("cancelled", 1)]
    await failure(action(deadline=0.3), "deadline_exceeded")


async def test_cancellation_leaves_the_action_without_a_response(host: Host) -> None:
    host.script = [HANG]
    running = asyncio.create_task(action().handle(new()))
    assert await asyncio.to_thread(host.arrived.wait, 10)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


@pytest.mark.parametrize(("model", "name"), [(SYSTEM_ONE, "SYSTEM_ONE_BASE_URL"), (OPENAI, "OPENAI_API_KEY")])
async def test_what_is_missing_in_the_environment_is_named(
    monkeypatch: pytest.MonkeyPatch, model: str, name: str
) -> None:
    for each in ("SYSTEM_ONE_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(each, raising=False)
    assert name in await failure(action(model), "provider_error")


async def test_a_missing_package_is_named_with_its_extra(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pydantic_ai.models.openai_decisions", raising=False)
    monkeypatch.setitem(sys.modules, "openai", None)  # as if it were not installed
    monkeypatch.setitem(sys.modules, "openai.types", None)
    assert "parkway[openai]" in await failure(action(OPENAI), "provider_error")


@pytest.mark.parametrize(
    ("model", "limits", "questions", "said"),
    [
        (SYSTEM_ONE, {}, {"q": Choice([f"o{n}" for n in range(256)])}, "'q' has 256 options, it takes 255"),
        (SYSTEM_ONE, {}, {"q": Score([f"l{n}" for n in range(11)])}, "'q' has 11 levels, it takes 10"),
        (OPENAI, {}, {f"q{n}": Noul("?") for n in range(201)}, "201 questions, it takes 200"),
        (OPENAI, {}, {"q": Choice([f"o{n}" for n in range(256)])}, "256 options"),
        ("system_one:pplx-decider", {}, {f"q{n}": Noul("?") for n in range(129)}, "129 questions, it takes 128"),
        ("system_one:nimble-2", {}, {f"q{n}": Noul("?") for n in range(65)}, "65 questions, it takes 64"),
        ("system_one:mine", {"bytes": 100}, {"q": Noul("a long question " * 10)}, "bytes of JSON, it takes 100"),
        ("system_one:mine", {"options": 2}, {"q": Choice(["a", "b", "c"])}, "3 options, it takes 2"),
    ],
)
async def test_a_hosts_limits_are_checked_before_it_is_asked(
    host: Host, model: str, limits: Any, questions: Any, said: str
) -> None:
    host.script = [GOOD]
    deciding = action(model, limits=DecisionLimits(**limits))
    assert said in await failure(deciding, "bad_request", new(questions=questions))
    assert host.requests == []


async def test_limits_that_nobody_knows_are_the_hosts_to_tell(host: Host) -> None:
    options = [f"o{n}" for n in range(300)]
    host.script = [system_one(q=choice("o0", **dict.fromkeys(options, 1 / 300)))]
    assert (await response(action("system_one:mine"), new(questions={"q": Choice(options)}))).success


async def test_each_call_is_in_the_journal_with_what_it_cost(host: Host) -> None:
    host.script = [error(500), GOOD]
    effects = await action().handle(new())
    first, second = effects.journal
    assert (first.kind, first.name, first.attempt, first.outcome) == ("decision", "judge", 1, "failed")
    assert first.error_type == "provider_error"
    assert (second.attempt, second.outcome, second.model) == (2, "success", "jev-1.14.3")
    assert second.usage == {"promptTokens": 7, "completionTokens": 2}
    assert second.content["state"] == {"text": "Refund me now!"}
    assert second.started_at <= second.ended_at


async def test_a_model_made_by_a_function_or_by_hand(host: Host) -> None:
    from pydantic_ai.models.system_one import SystemOneModel
    from pydantic_ai.providers.system_one import SystemOneProvider

    def own() -> SystemOneModel:
        return SystemOneModel("clm-1", provider=SystemOneProvider(base_url=host.url, api_key="k"))

    host.script = [GOOD]
    assert (await response(action(own))).success
    assert (await response(action(own()))).success
    assert [request["model"] for request in host.requests] == ["clm-1", "clm-1"]
