"""Decisions through the whole running system: a table, a function, a host that fails, and what is cancelled."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from decision_server import Host, choice, error, noul, system_one
from installation import Installation, event, wait_for

Install = Callable[..., Installation]
GOOD = system_one(queue=choice("other", 0.5, billing=0.25, other=0.75), spam=noul(0.9))


@pytest.fixture
def host() -> Iterator[Host]:
    running = Host()
    yield running
    running.stop()


def started(install: Install, host: Host, tmp_path: Path) -> Installation:
    here = install("decision_agents:Deciding")
    here.router()
    here.worker("w0", SYSTEM_ONE_BASE_URL=host.url, TEST_NOTES=str(tmp_path), PARKWAY_JOURNAL_CONTENT="full")
    return here


def outside(request_id: str, model: str, state: Any, **attributes: Any) -> dict[str, Any]:
    return event("_decision_request_event", request_id, model=model, state=state, questions={}, **attributes)


def responses(here: Installation) -> dict[str, Any]:
    """Attributes of the responses in `outputs`, by request id."""
    found = [one.json for one in here.read(here.topics.outputs) if one.json["type"] == "_decision_response_event"]
    by_id = {body["attributes"]["request_id"]: body["attributes"] for body in found}
    assert len(by_id) == len(found)  # one terminal response each
    return by_id


def test_every_request_is_answered_once_with_its_own_user_context(install: Install, host: Host, tmp_path: Path) -> None:
    host.script = [error(500)]
    here = started(install, host, tmp_path)
    for number in range(12):
        here.emit(event("ticket", number=number), key=f"k{number}")
    here.flush()
    outputs = [one.json["attributes"]["output"] for one in here.wait_read(here.topics.outputs, 36)]
    here.wait_all_done()
    assert len(here.read(here.topics.outputs)) == 36
    assert all(output["model"] == output["asked"] for output in outputs)
    said = {(output["model"], output["number"]): output for output in outputs}
    assert len(said) == 36
    for number in range(12):
        assert said["function", number]["queue"] == ("billing" if number % 2 else "other")
        assert said["function", number]["spam"] is True
        assert said["host", number]["error"] == "provider_error"
        assert "HTTP 500" in said["host", number]["message"]
        table = said["table", number]
        if number < 2:
            assert (table["queue"], table["spam"]) == ("billing", False)
        elif number == 2:
            assert "row 1 (`number < 3`), row 2 (`number == 2`)" in table["message"]
        else:
            assert "none of the 2 rows hits, and there is no default" in table["message"]
    assert len(host.requests) == 24  # one retry each
    assert "asked" not in str(host.requests)  # user_context reaches no model
    journal = Counter(
        (one.json["name"], one.json["outcome"], one.json["attempt"])
        for one in here.read(here.topics.journal)
        if one.json["kind"] == "decision"
    )
    assert journal == {
        ("table", "success", 1): 2,
        ("table", "failed", 1): 10,
        ("function", "success", 1): 12,
        ("host", "failed", 1): 12,
        ("host", "failed", 2): 12,
    }
    assert here.read(here.topics.dlq) == []
    assert here.parked() == {}


def test_requests_from_outside_are_answered_in_outputs(install: Install, host: Host, tmp_path: Path) -> None:
    host.script = [GOOD, error(422)]
    here = started(install, host, tmp_path)
    here.emit(outside("host-good", "host", "hello", user_context={"asked": "stranger", "n": None}), key="a")
    here.flush()
    here.wait_read(here.topics.outputs, 1)
    here.emit(outside("host-bad", "host", "hello", user_context={}), key="a")
    here.emit(outside("no-context", "table", {"number": 1}), key="b")
    here.emit(outside("nobody", "tabel", 1, user_context={"asked": 1}), key="c")
    here.emit(outside("unread", "table", 1, user_context={"asked": 1}, stat=1), key="d")
    late = outside("late", "table", 1, user_context={"asked": 1})
    here.emit(late, key="e", headers={"parkway-deadline": "1000"})
    without = outside("without", "table", {"number": 1})
    del without["attributes"]["questions"]
    here.emit(without, key="f")
    here.flush()
    here.wait_read(here.topics.outputs, 7)
    here.wait_all_done()
    got = responses(here)
    assert got["host-good"]["success"] is True
    assert got["host-good"]["user_context"] == {"asked": "stranger", "n": None}
    assert got["host-good"]["answers"]["queue"]["probabilities"] == {"billing": 0.25, "other": 0.75}
    assert got["host-good"]["usage"] == {"model_name": "jev-1.14.3", "promptTokens": 7, "completionTokens": 2}
    assert (got["host-bad"]["error"]["type"], got["host-bad"]["user_context"]) == ("provider_error", {})
    assert got["no-context"]["success"] is got["without"]["success"] is True
    assert "user_context" not in got["no-context"]
    errors = {name: got[name]["error"] for name in ("nobody", "unread", "late")}
    assert [each["type"] for each in errors.values()] == ["unknown_model", "bad_request", "deadline_exceeded"]
    assert "did you mean table" in errors["nobody"]["message"]
    assert "'stat'" in errors["unread"]["message"]
    assert all(got[name]["user_context"] == {"asked": 1} for name in errors)
    # A stranger's user_context does not fire the agent's own action.
    assert here.read(here.topics.action("decided")) == []
    assert here.read(here.topics.dlq) == []


def notes(folder: Path) -> Counter[str]:
    path = folder / "hang.notes"
    return Counter(path.read_text().splitlines() if path.exists() else [])


def test_a_decision_is_cancelled_while_it_runs_and_while_it_waits(install: Install, host: Host, tmp_path: Path) -> None:
    host.script = [GOOD]
    here = started(install, host, tmp_path)
    for number in range(2):  # one at once: the second waits for the limit
        here.emit(outside(f"r-{number}", "hanging", number, user_context={"n": number}), partition=0)
    here.flush()
    wait_for("the first runs", lambda: notes(tmp_path) == {"started 0": 1})
    for number in (1, 0):
        body = event("_cancel_request_event", request_id=f"r-{number}", action="decision", reason="a test")
        headers = {"parkway-type": "_cancel_request_event"}
        here.emit(body, topic=here.topics.events, partition=0, headers=headers)
        here.flush()
        wait_for("its response", lambda number=number: f"r-{number}" in responses(here))
    here.emit(outside("after", "host", 1), partition=0)
    here.flush()
    wait_for("what comes after", lambda: "after" in responses(here))
    here.wait_all_done()
    got = responses(here)
    assert [got[f"r-{number}"]["error"]["type"] for number in range(2)] == ["cancelled", "cancelled"]
    assert [got[f"r-{number}"]["user_context"] for number in range(2)] == [{"n": 0}, {"n": 1}]
    assert "a test" in got["r-0"]["error"]["message"]
    assert got["after"]["success"] is True
    wait_for("the call is cancelled", lambda: notes(tmp_path) == {"started 0": 1, "cancelled 0": 1})
    assert here.parked() == {}
