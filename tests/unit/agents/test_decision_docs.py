"""The Python of docs/agents/decisions.md runs, and builds a plan."""

import re
from pathlib import Path

import pytest
from doc_pages import run_page, text_of

from parkway.agents import build_plan
from parkway.schemas.errors import ErrorType

PAGE = text_of("docs/agents/decisions.md")


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = run_page("docs/agents/decisions.md", tmp_path, monkeypatch)
    plan = build_plan(names["Routing"], "page:Routing")
    assert [each.name for each in plan.actions] == ["ask", "routed", "decision"]
    assert names["judge"].sources[-1] is names["table"].rules


def test_error_types_of_the_page_exist() -> None:
    rows = re.findall(r"^\| (`[a-z_`, ]+`) \|", PAGE.split("| `error.type` | means |")[1], re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}
    assert named <= set(ErrorType)
    assert {"bad_request", "refused", "output_invalid", "cancelled"} <= named
