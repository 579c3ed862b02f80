"""What is not done yet, and where a request is, asked of a real broker with work left in it."""

import json
from collections.abc import Callable
from typing import Any

from installation import Installation, Said, event, wait_for


def lines(said: Said) -> dict[str, dict[str, Any]]:
    assert said.code in {0, 1}, said
    return {one["name"]: one for one in map(json.loads, said.out.splitlines())}


def chat(event_id: str, text: str) -> dict[str, Any]:
    return event("_chat_request_event", event_id, model="assistant", messages=[{"role": "user", "content": text}])


def test_lag_counts_what_is_not_completed_and_says_who_runs_it(install: Callable[..., Installation]) -> None:
    here = install("agents:Gates")
    here.emit(event("order", "late", number=0, wait=1), key="k")
    for number in range(1, 31):
        here.emit(event("order", f"e-{number}", number=number), key="k")
    here.flush()
    before = lines(here.command("lag", "--json"))
    assert before["router"]["behind"] == 31
    assert before["router"]["instances"] == []
    assert before["router"]["oldest"] is not None
    waits = here.command("request", "show", "late", "--key", "k")
    assert "waiting for router" in waits.out
    assert "start one (`parkway router`)" in waits.out

    here.router()
    here.worker("w0", TEST_NOTES=str(here.folder))
    here.wait_read(here.topics.outputs, 30)

    def one_left() -> bool:
        found = lines(here.command("lag", "--json"))
        return found["router"]["behind"] == 0 and found["process"]["behind"] == 1

    wait_for("one record is not completed", one_left)
    assert here.lag(here.topics.worker_group("process"), here.topics.action("process")) > 1  # Kafka's own
    row = lines(here.command("lag", "--json", "--action", "process"))["process"]
    assert row["instances"] == ["w0"]
    assert sum(part["behind"][here.topics.action("process")] for part in row["partitions"]) == 1
    table = here.command("lag", "--by-partition").out.splitlines()
    assert table[0].split() == ["NAME", "PARTITION", "NEW", "RESUME", "PARKED", "OLDEST", "RUNS", "ON"]
    assert len(table) == 1 + 2 * (1 + here.partitions)
    assert here.command("lag", "--fail-above", "1").code == 0
    assert here.command("lag", "--fail-above", "0").code == 1
    assert "there are process" in here.command("lag", "--action", "nope").err

    runs = here.command("request", "show", "late", "--json")
    story = json.loads(runs.out)
    assert (runs.code, story["state"]) == (0, "running")
    assert any("on w0" in step["text"] for step in story["steps"])
    done = json.loads(here.command("request", "show", "e-30", "--json").out)
    assert done["state"] == "handled"
    assert any("process sent _output_event" in step["text"] for step in done["steps"])
    (here.folder / "open").touch()


def test_a_request_is_found_wherever_it_is(install: Callable[..., Installation]) -> None:
    here = install("agents:Patient")
    here.router()
    here.worker("w0", "chat")
    here.emit(chat("parked-1", "1 hang end"), key="a")
    here.emit(chat("ended-1", "1 end"), key="b")
    here.emit(chat("failed-1", "1 end") | {"attributes": {"model": "nobody", "messages": []}}, key="c")
    here.emit(event("never", "dead-1"), key="d")
    here.flush()
    here.wait_read(here.topics.outputs, 2)
    wait_for("it is parked", here.parked)

    def show(event_id: str, *more: str) -> tuple[int, dict[str, Any]]:
        said = here.command("request", "show", event_id, "--json", *more)
        return said.code, json.loads(said.out)

    def parked_for_the_tool() -> str:
        code, story = show("parked-1", "--key", "a")
        assert (code, story["state"]) == (0, "parked")
        return next((step["next"] for step in story["steps"] if "waits for tool hang" in step["text"]), "")

    assert "nobody runs action tool" in wait_for("its tool request is queued", parked_for_the_tool)
    assert show("ended-1")[1]["state"] == "ended"
    code, failed = show("failed-1")
    assert (code, failed["state"]) == (1, "failed")
    assert any("unknown_model" in step["text"] for step in failed["steps"])
    code, dead = show("dead-1")
    assert (code, dead["state"]) == (1, "dead")
    assert any(
        "forbidden_type" in step["text"] and "dlq replay" in step["next"] for step in dead["steps"] if step["next"]
    )
    assert lines(here.command("lag", "--json"))["chat"]["parked"] == 1

    nowhere = here.command("request", "show", "nobody-1", "--since", "10m")
    assert (nowhere.code, nowhere.out) == (1, "")
    assert "stands in no record of any partition" in nowhere.err
    assert "--partition 9" in here.command("request", "show", "x", "--partition", "9").err

    assert here.command("requests", "cancel", "parked-1", "--yes", "--wait", "30s").code == 0
    code, over = show("parked-1")
    assert (code, over["state"]) == (1, "failed")
    assert any("cancelled" in step["text"] for step in over["steps"])


def test_who_waits_for_a_person_is_said_to(install: Callable[..., Installation]) -> None:
    here = install("approval_agents:Payments")
    here.router()
    here.worker()
    here.emit(chat("pay-1", "pay 500"), key="a")
    here.flush()

    def asked() -> dict[str, Any] | None:
        said = here.command("request", "show", "pay-1", "--key", "a", "--json")
        story = json.loads(said.out)
        return story if story["state"] == "awaiting_approval" else None

    story = wait_for("a person is asked", asked, 60)
    waits = next(step for step in story["steps"] if step["state"] == "awaiting_approval")
    call = json.loads(here.command("approvals", "list", "--json").out)
    assert waits["next"] == f"`parkway approvals list`; approve or deny {call['id']}"
    assert here.command("approvals", "approve", call["id"], "--yes").code == 0
    trace = here.command("trace", "pay-1", "--key", "a", "--follow")
    assert "_approval_request_event" in trace.out
    assert trace.out.splitlines()[-1].startswith("over after ")
    assert json.loads(here.command("request", "show", "pay-1", "--json").out)["state"] == "ended"
