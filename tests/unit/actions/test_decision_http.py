"""The decision action through pydantic-ai's clients, against a server on this machine that answers as told."""

import json
import math
from typing import Any

import pytest
from decision_hosts import (
    GOOD,
    KEY,
    OPENAI,
    PICKED,
    PREDICATE,
    QUESTIONS,
    RATED,
    SYSTEM_ONE,
    action,
    failure,
    new,
    response,
)
from decision_server import Host, choice, error, openai, score, system_one

from parkway.agents import Choice, DecisionLimits, Noul, Score


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
