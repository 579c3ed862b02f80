"""A decision action over pydantic-ai's clients, and a server on this machine that answers as told."""

import time
from typing import Any

from decision_server import choice, noul, score, system_one

from parkway.agents import Choice, DecisionModel, Noul, Retry, Score
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
