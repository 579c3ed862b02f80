"""An agent in YAML on a real Kafka: router and worker take the file as they take a class."""

import json
import os
from collections.abc import Callable
from typing import Any

import pytest
from installation import HERE, Installation, wait_for

ROOT = HERE.parents[1]
EXAMPLE = ROOT / "examples/support_triage"


def test_tickets_go_through_the_agent_of_the_file(
    install: Callable[..., Installation], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PARKWAY_MODEL", raising=False)
    monkeypatch.syspath_prepend(str(ROOT))
    here = install(str(EXAMPLE / "agent.yaml"), partitions=2)
    here.router()
    here.worker("w0", PYTHONPATH=f"{ROOT}:{os.environ.get('PYTHONPATH', '')}")
    tickets = (EXAMPLE / "tickets.jsonl").read_text()
    assert here.command("emit", "--type", "ticket", "--key-from", "attributes.customer", answer=tickets).code == 0

    def outputs() -> dict[str, Any]:
        found = [one.json["attributes"]["output"] for one in here.read(here.topics.outputs)]
        return {one["customer"]: one.get("team") for one in found} if len(found) == 4 else {}

    found = wait_for("four outputs", outputs)
    assert found == {"ada": "billing", "bob": "shipping", "cyd": "technical", "dan": None}
    assert here.read(here.topics.dlq) == []


def test_what_is_wrong_with_the_file_is_exit_2(install: Callable[..., Installation], tmp_path: Any) -> None:
    here = install(str(EXAMPLE / "agent.yaml"), partitions=1)
    (tmp_path / "wrong.yaml").write_text("agents:\n  - name: a\n    acts: []\n")
    done = here.command("worker", str(tmp_path / "wrong.yaml"))
    assert done.code == 2
    assert "wrong.yaml:3: agents[a]: unknown member 'acts' (did you mean actions?)" in done.err
    assert json.loads(here.command("plan", "schema").out)["title"] == "Parkway agents"
