"""What a decision adds to metrics, spans and the journal."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import REGISTRY

from parkway.agents import DecisionModel, Noul, Retry
from parkway.runtime import tracing
from parkway.schemas.events import DecisionRequestEvent
from parkway.workers.actions.decision import DecisionAction
from parkway.workers.effects import Effects, Task

QUESTIONS = {"spam": Noul("Is it spam?"), "vip": Noul("Is it important?")}


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    one = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(one))
    monkeypatch.setattr(tracing, "_tracer", provider.get_tracer("parkway"))
    yield one
    provider.shutdown()


def calls(model: str, outcome: str) -> float:
    labels = {"model": model, "outcome": outcome}
    return REGISTRY.get_sample_value("parkway_decision_seconds_count", labels) or 0


async def decide(judge: DecisionModel) -> Effects:
    request = DecisionRequestEvent(model="judge", state="my secret", questions=QUESTIONS)
    action = DecisionAction({"judge": judge}, backoff=Retry(backoff=0))
    return await action.handle(Task(request.to_dict(), int((time.time() + 30) * 1000)))


async def test_each_call_is_counted_traced_and_written_down(exporter: InMemorySpanExporter) -> None:
    tries: list[int] = []

    async def measured(state: Any) -> dict[str, Any]:
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError(state)
        return {"spam": 0.25, "vip": True}

    before = calls("measured", "provider_error"), calls("measured", "ok")
    effects = await decide(DecisionModel.of(measured, max_retries=1))
    assert (calls("measured", "provider_error"), calls("measured", "ok")) == (before[0] + 1, before[1] + 1)
    assert REGISTRY.get_sample_value("parkway_model_retries_total", {"model": "measured"}) == 1
    failed, good = exporter.get_finished_spans()
    assert (failed.name, good.name) == ("decide measured", "decide measured")
    assert failed.attributes is not None
    assert failed.attributes["error.type"] == "provider_error"
    assert good.attributes == {
        "gen_ai.operation.name": "decide",
        "gen_ai.request.model": "measured",
        "gen_ai.response.model": "measured",
        "parkway.decision.model": "judge",
        "parkway.decision.questions": 2,
    }
    assert "secret" not in failed.to_json() + good.to_json()
    assert [(entry.kind, entry.name, entry.attempt, entry.outcome, entry.model) for entry in effects.journal] == [
        ("decision", "judge", 1, "failed", None),
        ("decision", "judge", 2, "success", "measured"),
    ]


async def test_a_request_that_no_model_was_asked_for_is_not_in_the_journal() -> None:
    request = DecisionRequestEvent(model="nobody", state=1, questions=QUESTIONS)
    action = DecisionAction({})
    effects = await action.handle(Task(request.to_dict(), int((time.time() + 30) * 1000)))
    assert effects.response is not None
    assert effects.journal == []
