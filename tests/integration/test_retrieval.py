"""Retrieval through the whole running system: documents, or a dead letter that has everything in it."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from installation import PYTHONPATH, Installation, event, wait_for

ROOT = Path(__file__).parents[2]
AGENT = "retrieval_agents:Rag"


def question(number: int, store: str, query: str = "routers match triggers", **attributes: Any) -> dict[str, Any]:
    return {**event("question", query=query, vector_store=store, **attributes), "id": f"q{number}"}


def outputs(here: Installation) -> dict[str, dict[str, Any]]:
    found = [one.json["attributes"]["output"] for one in here.read(here.topics.outputs)]
    assert len({one["asked"] for one in found}) == len(found), "an answer stands there twice"
    return {one["asked"]: one for one in found}


def test_documents_of_an_indexed_store_come_back_with_scores_metadata_and_user_context(
    install: Callable[..., Installation], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.md").write_text("# Routers\n\nRouters match triggers.\n\n# Workers\n\nWorkers run actions.\n")
    monkeypatch.chdir(tmp_path)
    here = install(AGENT)
    here.router()
    here.worker("w0", TEST_NOTES=str(tmp_path))
    indexed = here.command("index", AGENT, "manual", "a.md", "--json")
    assert indexed.code == 0, indexed.err
    assert json.loads(indexed.out)["documents"] == 2
    for number in range(10):
        here.emit(question(number, "manual", max_results=1 + number % 2), key=f"k{number}")
    outside = {"query": "who runs the actions of workers", "vector_store": "manual", "max_results": 1}
    here.emit(
        {
            "id": "x",
            "type": "_context_retrieval_request_event",
            "attributes": {**outside, "user_context": {"a": [None]}},
        }
    )
    here.emit({"id": "y", "type": "_context_retrieval_request_event", "attributes": outside})
    here.emit(
        {"id": "z", "type": "_context_retrieval_request_event", "attributes": {**outside, "vector_store": "manaul"}}
    )
    here.flush()
    here.wait_read(here.topics.outputs, 12)
    here.wait_all_done()
    records = here.read(here.topics.outputs)
    assert len(records) == 12
    responses = {
        one.json["attributes"]["request_id"]: one.json for one in records if one.json["type"] != "_output_event"
    }
    assert {name: body["attributes"].get("user_context", "absent") for name, body in responses.items()} == {
        "x": {"a": [None]},
        "y": "absent",
    }
    (document,) = responses["x"]["attributes"]["documents"]
    assert document["content"] == "Workers\n\nWorkers run actions."
    assert document["metadata"] == {"source": "a.md", "chunk": 1, "heading": "Workers"}
    assert document["id"] == "a.md#1"
    assert 0 < document["score"] <= 1
    answers = [one.json["attributes"]["output"] for one in records if one.json["type"] == "_output_event"]
    assert {one["asked"]: len(one["documents"]) for one in answers} == {f"q{n}": 1 + n % 2 for n in range(10)}
    assert all(one["documents"][0]["heading"] == "Routers" for one in answers)
    (dead,) = here.read(here.topics.dlq)
    assert dead.headers["parkway-error-type"] == b"bad_request"
    assert b"did you mean manual?" in dead.headers["parkway-error-message"]
    journal = [one.json for one in here.read(here.topics.journal)]
    calls = [one for one in journal if one["action"] == "retrieval"]
    assert len(calls) == 12
    assert {(one["kind"], one["name"], one["model"], one["outcome"], one["content"]) for one in calls} == {
        ("model_call", "manual", "words-128", "success", None)
    }


def test_a_store_that_is_down_is_asked_again_and_what_gives_up_is_in_the_dlq_whole(
    install: Callable[..., Installation], tmp_path: Path
) -> None:
    down = tmp_path / "down"
    down.touch()
    here = install(AGENT)
    here.router()
    worker = here.worker("w0", TEST_NOTES=str(tmp_path))
    for number in range(5):
        here.emit(question(number, "moody"), key=f"k{number}")
    here.emit(question(9, "brief", query="the question"), key="k9")
    here.flush()
    (dead,) = here.wait_read(here.topics.dlq, 1)
    assert dead.key == b"k9"
    assert dead.json["type"] == "_context_retrieval_request_event"
    assert dead.json["attributes"] == {
        "query": "the question",
        "vector_store": "brief",
        "max_results": 3,
        "user_context": {"asked": "q9"},
    }
    assert dead.headers["parkway-error-type"] == b"retrieval_failed"
    assert dead.headers["parkway-attempt"] == b"3"
    assert dead.headers["parkway-error-message"] == b"vector store 'brief': ConnectionError"
    assert "secret-host" not in str(dead.headers)
    opened = tmp_path / "open.notes"
    wait_for("further attempts", lambda: opened.read_text().count("1") > 20)
    assert worker.poll() is None
    assert here.read(here.topics.outputs) == []
    down.unlink()
    here.wait_read(here.topics.outputs, 5)
    here.wait_all_done()
    assert set(outputs(here)) == {f"q{number}" for number in range(5)}
    assert len(here.read(here.topics.dlq)) == 1
    worker.terminate()
    assert worker.wait(30) == 0
    assert (tmp_path / "closed.notes").read_text() == "1\n", "the store was not closed, or more than one was open"
    assert "secret-host" not in (tmp_path / "w0.log").read_text()


def test_the_example_answers_from_the_documentation(
    install: Callable[..., Installation], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As its README says, with the documentation linked into another folder."""
    example = "examples.rag_docs.agent:Docs"
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    here = install(example)
    here.router()
    here.worker("w0", PYTHONPATH=f"{PYTHONPATH}{os.pathsep}{ROOT}")
    indexed = here.command("index", example, "manual", "docs", "--json")
    assert indexed.code == 0, indexed.err
    sent = here.command("emit", "--type", "question", answer='{"text": "How do I scale workers?"}\n')
    assert sent.code == 0, sent.err
    (output,) = here.wait_read(here.topics.outputs, 1)
    said = output.json["attributes"]["output"]
    assert said["question"] == "How do I scale workers?"
    assert said["sources"][0] == "docs/operations.md"
    assert "scale workers" in said["answer"].lower()
    assert here.read(here.topics.dlq) == []
