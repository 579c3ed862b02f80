"""The agent in memory, with the real router, actions and store: `pytest examples/rag_docs`."""

import sys
from pathlib import Path

import pytest

from parkway.agents import Agent, Document, VectorStore, definition_of, load_agent
from parkway.testing import AgentTest

DOCUMENTS = [
    Document(id="scale.md#0", content="To scale workers, start more of them.", metadata={"source": "scale.md"}),
    Document(id="avro.md#0", content="Events are written in Avro or JSON.", metadata={"source": "avro.md"}),
]


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> type[Agent]:
    monkeypatch.chdir(tmp_path)  # the store is a file below the current folder
    (tmp_path / ".parkway").mkdir()
    for name in ("PARKWAY_MODEL", "PARKWAY_EMBEDDER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delitem(sys.modules, "examples.rag_docs.agent", raising=False)  # it reads the variable once
    loaded = load_agent("examples.rag_docs.agent:Docs")
    assert isinstance(loaded, type)
    return loaded


async def test_an_answer_has_its_sources(agent: type[Agent]) -> None:
    manual = definition_of(agent).of(VectorStore)["manual"]
    await manual.add(DOCUMENTS)
    await manual.close()
    async with AgentTest(agent) as test:
        await test.send({"type": "question", "attributes": {"text": "How do I scale workers?"}}, key="ada")
        await test.run()
        (output,) = test.outputs
        assert output["answer"] == "To scale workers, start more of them."
        assert output["sources"][0] == "scale.md"
        assert test.dlq == []


async def test_an_empty_store_is_said(agent: type[Agent]) -> None:
    async with AgentTest(agent) as test:
        await test.send({"type": "question", "attributes": {"text": "How do I scale workers?"}}, key="ada")
        await test.run()
        assert test.outputs == []
        (dead,) = test.dlq
        assert dead.reason == "retrieval_failed"
