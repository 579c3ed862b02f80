"""What the machinery is told of an action besides its code: its limits, and how patient it is."""

import time
from collections.abc import Sequence
from typing import Any

from parkway.agents import (
    Agent,
    ContextRetrievalRequestEvent,
    Document,
    DocumentStore,
    Event,
    Retry,
    VectorStore,
    action,
    build_plan,
    definition_of,
)
from parkway.runtime.settings import Settings
from parkway.schemas.plan import ActionPlan
from parkway.workers.actions.factory import limiters_of, make_action, retry_of
from parkway.workers.actions.retrieval import RetrievalAction
from parkway.workers.effects import Task


class Mine(DocumentStore):
    async def query(self, text: str, embedding: Any, *, max_results: int, where: Any) -> Sequence[Document]:
        return []


QUICK, PATIENT, OWN = Retry(attempts=9, backoff=0.1), Retry(attempts=3, backoff=20), Retry(attempts=2)


class Rag(Agent):
    quick = VectorStore(Mine, retry=QUICK, concurrency=2)
    patient = VectorStore(Mine, retry=PATIENT)

    @action("x", retry=OWN)
    async def mine(self, event: Event) -> None: ...


def planned(name: str) -> ActionPlan:
    found = build_plan(Rag, "m:Rag").action(name)
    assert found is not None
    return found


def test_who_takes_a_retrieval_over_waits_as_long_as_the_most_patient_store() -> None:
    assert retry_of(planned("retrieval"), definition_of(Rag)) == PATIENT
    assert retry_of(planned("mine"), definition_of(Rag)) == OWN


def test_a_store_with_a_bound_has_a_limiter_and_its_requests_find_it() -> None:
    limiters = limiters_of(planned("retrieval"), definition_of(Rag))
    assert list(limiters) == ["quick"]
    made = make_action(Settings(), planned("retrieval"), Rag(), limiters)
    assert isinstance(made, RetrievalAction)

    def limiter(store: Any) -> Any:
        event = ContextRetrievalRequestEvent(query="q", vector_store="x").to_dict()
        event["attributes"]["vector_store"] = store
        return made.limiter(Task(event, int(time.time() * 1000)))

    assert limiter("quick") is limiters["quick"]
    assert [limiter(other) for other in ("patient", "nobody", ["quick"], None)] == [None] * 4
