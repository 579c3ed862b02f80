"""The Python of docs/agents/decisions.md runs, and builds a plan."""

import re
from pathlib import Path
from typing import Any

import pytest

from parkway.agents import build_plan
from parkway.schemas.errors import ErrorType

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/agents/decisions.md").read_text()


def test_the_examples_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {"__name__": "decisions_page"}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) >= 5
    for block in blocks:
        exec(compile(block, "decisions.md", "exec"), names)
    plan = build_plan(names["Routing"], "page:Routing")
    assert [each.name for each in plan.actions] == ["ask", "routed", "decision"]
    assert names["judge"].sources[-1] is names["table"].rules


def test_error_types_of_the_page_exist() -> None:
    rows = re.findall(r"^\| (`[a-z_`, ]+`) \|", PAGE.split("| `error.type` | means |")[1], re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}
    assert named <= set(ErrorType)
    assert {"bad_request", "refused", "output_invalid", "cancelled"} <= named
