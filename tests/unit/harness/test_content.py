"""What events contain stands in no header, log, error, journal record or span unless `capture_content` says so."""

import copy

import pytest
import structlog

from parkway.agents import (
    Agent,
    ChatModel,
    DecisionModel,
    DecisionTable,
    Document,
    DocumentStore,
    Noul,
    Retry,
    VectorStore,
)
from parkway.testing import AgentTest, ScriptedModel

SECRET = "s3cr3t"


class Broken(DocumentStore):
    """Quotes what it is asked."""

    async def query(self, text: str, embedding: object, **_: object) -> list[Document]:
        raise ConnectionError(f"no documents for {text}")


def judge(state: object) -> object:
    raise LookupError(f"nobody knows {state}")


class Careless(Agent):
    assistant = ChatModel("openai:gpt-5-mini", max_retries=1)
    store = VectorStore(Broken, retry=Retry(attempts=2, backoff=0.01))
    table = DecisionTable([{"when": "amount > 1000", "large": True}])
    converts = DecisionTable(
        [
            {"when": condition, "large": True}
            for condition in (
                "kind == 0 && int(text) > 1",
                "kind == 1 && timestamp(text) > timestamp('2026-01-01T00:00:00Z')",
                "kind == 2 && duration(text) > duration('1s')",
                "kind == 3 && {'a': true}[text]",
                "kind == 4 && text.matches(text + '[')",
                "kind == 5 && double(text) > 1.0",
                "kind == 6 && bool(text)",
                "kind == 7 && uint(text) > 1u",
                "kind == 8 && [1, 2][text] == 1",
                "kind == 9 && {text: 1, text: 2}.size() == 1",
                "kind == 10 && int(longer) > 1",
            )
        ]
    )
    judge = DecisionModel.of(judge, questions={"spam": Noul("?")})


REQUESTS = {
    "_chat_request_event": {
        "model": "assistant",
        "messages": [{"role": "user", "content": "hello"}],
        "prompt_args": {},
        "user_context": {},
    },
    "_context_retrieval_request_event": {"query": "q", "vector_store": "store", "max_results": 3, "user_context": {}},
    "_decision_request_event": {"model": "judge", "state": {"amount": 5}, "questions": {}, "user_context": {}},
    "_cancel_request_event": {"request_id": "r", "token": "t", "reason": "r"},
}
# What a value may be in place of another one.
ODD = [
    SECRET,
    [SECRET],
    {"a": SECRET},
    [{"role": SECRET, "content": SECRET}],
    [{"role": "user", "content": [SECRET]}],
    {"spam": SECRET},
    {"spam": {"type": "choice", "criteria": SECRET}},
    {"spam": {"type": "noul", "instructions": {"a": SECRET}, "criteria": [SECRET]}},
    {"spam": {"type": "score", "criteria": {"0": SECRET}}},
    {"amount": SECRET},
]


def events() -> list[dict[str, object]]:
    odd = []
    for kind, attributes in REQUESTS.items():
        for name in attributes.keys() - {"model", "vector_store"}:  # names of resources are no content
            odd += [{"type": kind, "attributes": {**copy.deepcopy(attributes), name: value}} for value in ODD]
    odd += [{"type": "_decision_request_event", "attributes": {"model": "table", "state": state}} for state in ODD]
    states = [{"kind": kind, "text": SECRET, "longer": f"{SECRET}{'9' * 5_000}"} for kind in range(11)]
    odd += [{"type": "_decision_request_event", "attributes": {"model": "converts", "state": one}} for one in states]
    odd += [{"type": "_chat_request_event", "attributes": attributes} for attributes in ODD]
    odd += [{"type": SECRET, "attributes": {}, "specversion": "1.0", "id": "i", "source": "s", "data": SECRET}]
    return [{"id": f"e{number}", **one} for number, one in enumerate(odd)]


@pytest.mark.parametrize("capture", [False, True])
async def test_no_content_without_capture_content(capture: bool) -> None:
    model = ScriptedModel(lambda question: ConnectionError(f"{SECRET} in {question.text}"))
    models = {"assistant": model}
    with structlog.testing.capture_logs() as lines:
        async with AgentTest(Careless, models=models, settings={"capture_content": capture}) as test:
            for event in events():
                await test.send(event, key="k")
            await test.run()
            told = [str(line) for line in lines]
            told += [str({n: v for n, v in one.headers.items() if n != "key"}) for one in test.records("dlq")]
            told += [str(one) for one in test.journal] if not capture else []
            errors = [test.value_of(one)["attributes"].get("error") for one in test.records("outputs")]
            told += map(str, filter(None, errors))
            assert len(errors) + len(test.dlq) == len(events())
    assert any(SECRET in one for one in told) is capture, [one for one in told if SECRET in one]
