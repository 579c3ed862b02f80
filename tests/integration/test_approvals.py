"""Calls that wait for a person, on a real Kafka: each decided once, whatever dies meanwhile."""

import json
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from installation import Installation, Read, event, wait_for

from parkway.schemas.tokens import Token

Install = Callable[..., Installation]


@pytest.fixture
def here(install: Install, tmp_path: Path) -> Installation:
    one = install("approval_agents:Payments", partitions=2)
    one.router()
    return one


def ask(here: Installation, request_id: str, words: str, **headers: str) -> None:
    request = event(
        "_chat_request_event",
        request_id,
        model="assistant",
        messages=[{"role": "user", "content": words}],
        user_context={"of": request_id},
    )
    given = {"parkway-tenant": "acme", **{f"parkway-{name}": value for name, value in headers.items()}}
    here.emit(request, key=request_id, partition=len(request_id) % 2, headers=given)
    here.flush()


def approvals(here: Installation, count: int) -> dict[int, Any]:
    """Attributes of the approval requests in `outputs`, by the amount that is asked for."""

    def asked() -> list[Any]:
        found = [one.json for one in outputs(here, "_approval_request_event")]
        return [one["attributes"] for one in found] if len(found) >= count else []

    return {one["call"]["function"]["arguments"]["amount"]: one for one in wait_for("approval requests", asked)}


def outputs(here: Installation, event_type: str) -> list[Read]:
    return [one for one in here.read(here.topics.outputs) if one.headers["parkway-type"] == event_type.encode()]


def decide(here: Installation, asked: Any, *, approved: bool, reason: str | None = None) -> None:
    """As somebody outside does: into `requests`, in whatever partition."""
    answer = {"request_id": asked["request_id"], "token": asked["token"], "approved": approved}
    here.emit(event("_approval_response_event", **answer, **({"reason": reason} if reason else {})))
    here.flush()


def answers(here: Installation, count: int) -> dict[str, Any]:
    """What each chat ended with: the tools' results as its model saw them, or the type of its error."""

    def there() -> bool:
        return len(outputs(here, "_chat_response_event")) >= count

    wait_for(f"{count} answers\n{here.logs()}", there, 60)
    here.wait_all_done()
    found: dict[str, Any] = {}
    for one in outputs(here, "_chat_response_event"):
        attributes = one.json["attributes"]
        assert attributes["request_id"] not in found, "answered twice"
        assert attributes["user_context"] == {"of": attributes["request_id"]}
        error = attributes["error"]
        found[attributes["request_id"]] = error["type"] if error else json.loads(attributes["response"]["content"])
    assert here.parked() == {}
    return found


def notes(folder: Path, name: str) -> Counter[str]:
    path = folder / f"{name}.notes"
    return Counter(path.read_text().splitlines() if path.exists() else [])


def test_people_outside_an_action_of_the_agent_and_the_clock_decide(here: Installation, tmp_path: Path) -> None:
    here.worker("w0", TEST_NOTES=str(tmp_path))
    ask(here, "two", "pay 500, pay 5, pay 501")
    ask(here, "policy", "pay 200")
    ask(here, "clock", "hurry 300, pay 7")
    asked = approvals(here, 4)
    assert asked[500]["reason"] == "it costs much"
    wrong = {**asked[500], "token": str(Token.new("tool", Token.parse(asked[500]["token"]).partition))}
    decide(here, wrong, approved=True)
    decide(here, {**asked[500], "token": str(Token.new("chat", 0))}, approved=True)
    decide(here, asked[501], approved=False, reason="not today")
    decide(here, asked[500], approved=True)
    decide(here, asked[500], approved=False)  # too late: it was used
    assert answers(here, 3) == {
        "two": ["paid 500 for acme", "paid 5 for acme", "Tool `pay` was denied: not today"],
        "policy": ["Tool `pay` was denied: nobody pays 200"],
        "clock": ["Tool `hurry` was denied: nobody answered in time", "paid 7 for acme"],
    }
    decide(here, asked[300], approved=True)  # long over
    here.wait_all_done()
    assert sum(notes(tmp_path, "pay").values()) == 3
    assert not notes(tmp_path, "hurry")
    assert len(outputs(here, "_approval_request_event")) == 4
    (dead,) = here.read(here.topics.dlq)
    assert dead.headers["parkway-error-type"] == b"bad_token"
    journal = [one.json for one in here.read(here.topics.journal)]
    decided = sorted((one["request_id"], one["outcome"]) for one in journal if one["kind"] == "approval")
    assert decided == [("clock", "denied"), ("policy", "denied"), ("two", "approved"), ("two", "denied")]
    assert {one["content"] for one in journal} == {None}


def test_an_approved_call_that_is_killed_runs_again_and_answers_once(here: Installation, tmp_path: Path) -> None:
    (tmp_path / "closed").touch()
    first = here.worker("w0", TEST_NOTES=str(tmp_path))
    ask(here, "a", "pay 500, pay 600")
    asked = approvals(here, 2)
    decide(here, asked[600], approved=True)
    wait_for("it is paid", lambda: notes(tmp_path, "pay"))
    decide(here, asked[500], approved=False)  # waits for the one that runs
    first.send_signal(signal.SIGKILL)
    first.wait()
    here.worker("w0", TEST_NOTES=str(tmp_path))
    wait_for("it is paid again", lambda: sum(notes(tmp_path, "pay").values()) == 2)
    (tmp_path / "closed").unlink()
    assert answers(here, 1) == {"a": ["Tool `pay` was denied.", "paid 600 for acme"]}
    assert len(notes(tmp_path, "pay")) == 1, "with one idempotency key"
    assert len(outputs(here, "_approval_request_event")) == 2, "nobody is asked again"


def test_what_waits_moves_with_its_partition_and_a_cancelled_chat_takes_it_along(
    here: Installation, tmp_path: Path
) -> None:
    here.worker("w0", TEST_NOTES=str(tmp_path), PARKWAY_MAX_OPEN="1")
    for request_id, amount in (("a", 501), ("bb", 502), ("ccc", 503), ("dddd", 504)):
        ask(here, request_id, f"pay {amount}")
    asked = approvals(here, 4)  # although max_open is 1: people do not count
    (tmp_path / "closed").touch()
    decide(here, asked[504], approved=True)
    wait_for("it is being paid", lambda: notes(tmp_path, "pay"))
    here.worker("w1", TEST_NOTES=str(tmp_path))
    for name in ("chat", "tool"):
        here.wait_members(here.topics.worker_group(name), 2)
    cancelled = event("_cancel_request_event", request_id="a", action="chat")
    here.emit(cancelled, topic=here.topics.events, partition=1, headers={"parkway-type": "_cancel_request_event"})
    here.flush()
    wait_for("the cancellation is through", lambda: outputs(here, "_chat_response_event"))
    wait_for(
        "and takes the tool request along", lambda: len([key for key in here.parked() if key.endswith(b"/tool")]) == 3
    )
    for amount, yes in ((501, True), (502, True), (503, False), (504, False)):  # the last one is too late
        decide(here, asked[amount], approved=yes)
    (tmp_path / "closed").unlink()
    assert answers(here, 4) == {
        "a": "cancelled",
        "bb": ["paid 502 for acme"],
        "ccc": ["Tool `pay` was denied."],
        "dddd": ["paid 504 for acme"],
    }
    assert len(notes(tmp_path, "pay")) == 2


def test_an_operator_lists_shows_approves_and_denies(here: Installation, tmp_path: Path) -> None:
    here.worker("w0", TEST_NOTES=str(tmp_path))
    nothing = here.command("approvals", "list")
    assert (nothing.code, nothing.out, nothing.err) == (0, "", "nothing waits for a person\n")
    ask(here, "two", "pay 500, pay 600, pay 700, pay 5")
    asked = approvals(here, 3)
    listed = [json.loads(line) for line in here.command("approvals", "list", "--json").out.splitlines()]
    by_amount = {one["arguments"]["amount"]: one for one in listed}
    assert sorted(by_amount) == [500, 600, 700]
    assert by_amount[500].keys().isdisjoint({"token", "raw_key"})
    first, second = by_amount[500]["id"], by_amount[600]["id"]
    assert (by_amount[500]["chat"], by_amount[500]["root_id"], by_amount[500]["tenant"]) == ("two", "two", "acme")
    table = here.command("approvals", "list", "--tool", "pay").out
    assert first in table
    assert '{"amount": 600}' in table
    assert "it costs much" in table
    assert here.command("approvals", "list", "--tool", "other").out == ""
    shown = here.command("approvals", "show", first[:13], "--json")
    assert json.loads(shown.out)["token"] == asked[500]["token"]
    assert "arguments:" in here.command("approvals", "show", first).out
    unknown = here.command("approvals", "approve", "nobody", "--yes")
    assert (unknown.code, unknown.err) == (
        1,
        "error: no call 'nobody' waits for a person; see `parkway approvals list`\n",
    )
    ambiguous = here.command("approvals", "approve", "", "--yes")
    assert ambiguous.code == 2
    assert "is the beginning of 3 ids" in ambiguous.err
    refused = here.command("approvals", "approve", first, answer="n\n")
    assert refused.code == 1
    assert 'pay {"amount": 500} (it costs much)' in refused.out
    approved = here.command("approvals", "approve", first, "--wait", "30s", answer="y\n")
    assert approved.code == 0, approved
    assert "it has been taken up, and has ended" in approved.out
    again = here.command("approvals", "approve", first, "--yes")
    assert again.code == 1
    assert "waits no more: it was decided" in again.err
    for_programs = here.command("approvals", "approve", first, "--yes", "--json")
    assert (for_programs.code, for_programs.err) == (1, "")
    why = json.loads(for_programs.out)
    assert (why["id"], why["error"]["type"]) == (first, "not_waiting")
    denied = here.command("approvals", "deny", second, "--reason", "the budget is spent", "--yes")
    assert denied.out == f"denial of pay call {second} sent\n"
    third = by_amount[700]
    decided = here.command("approvals", "approve", third["id"], "--wait", "30s", "--json", answer="y\n")
    assert decided.code == 0, decided
    assert "Approve it?" in decided.err
    done = json.loads(decided.out.splitlines()[-1])  # after the answer, as a terminal shows it
    assert (done["approved"], done["ended"]) == (True, True)
    assert all(done[name] == third[name] for name in ("id", "tool", "request_id", "partition"))
    denial = "Tool `pay` was denied: the budget is spent"
    assert answers(here, 1) == {"two": ["paid 500 for acme", denial, "paid 700 for acme", "paid 5 for acme"]}
    over = here.command("approvals", "show", second)
    assert over.code == 1
