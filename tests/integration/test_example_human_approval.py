"""The example, as its README has it: what costs much waits for a person."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from installation import HERE, Installation, wait_for

ROOT = HERE.parents[1]


def outputs(here: Installation) -> list[Any]:
    """What the agent puts out; the approval requests that stand there too are left out."""
    records = here.read(here.topics.outputs)
    return [one.json["attributes"]["output"] for one in records if one.headers["parkway-type"] == b"_output_event"]


def complain(here: Installation, order: str) -> None:
    body = json.dumps({"order": order, "text": "It is broken."})
    assert here.command("emit", "--type", "complaint", answer=f"{body}\n").code == 0


def waiting(here: Installation, count: int) -> list[Any]:
    def listed() -> list[Any]:
        found = [json.loads(line) for line in here.command("approvals", "list", "--json").out.splitlines()]
        return found if len(found) >= count else []

    return wait_for("calls that wait", listed)


def test_small_refunds_are_paid_and_large_ones_wait_for_a_person(
    install: Callable[..., Installation], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("PARKWAY_MODEL", raising=False)
    monkeypatch.syspath_prepend(str(ROOT))
    here = install("examples.human_approval.agent:RefundDesk", partitions=2)
    here.router()
    here.worker("w0", PYTHONPATH=f"{ROOT}:{os.environ.get('PYTHONPATH', '')}")
    complain(here, "A-1")
    complain(here, "B-2")
    (call,) = waiting(here, 1)
    assert (call["tool"], call["arguments"]) == ("refund", {"order": "B-2", "amount": 250.0})
    assert call["reason"] == "more than 100"
    done = here.command("approvals", "approve", call["id"][:8], "--yes", "--wait", "30s")
    assert done.code == 0, done
    wait_for("both answers", lambda: sum("answer" in one for one in outputs(here)) == 2)
    answers = {one["order"]: one["answer"] for one in outputs(here) if "answer" in one}
    assert answers["A-1"].startswith("Order A-1: refunded 20 for A-1 (key ")
    assert answers["B-2"].startswith("Order B-2: refunded 250 for B-2 (key ")
    (hint,) = [one for one in outputs(here) if "decide" in one]
    assert hint == {"decide": f"parkway approvals approve {call['id']}", "why": "more than 100"}
    complain(here, "B-2")
    (call,) = waiting(here, 1)
    assert here.command("approvals", "deny", call["id"], "--reason", "no", "--yes").code == 0
    wait_for(
        "the denial", lambda: "Order B-2: Tool `refund` was denied: no" in [one.get("answer") for one in outputs(here)]
    )
