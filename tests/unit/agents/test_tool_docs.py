"""The Python of docs/agents/tools.md runs, and builds plans; its tables say what the code does."""

from pathlib import Path

import pytest
from doc_pages import run_page, text_of

from parkway.agents import MCPServer, build_plan, definition_of, tool
from parkway.agents.tool_context import INJECTABLE

PAGE = text_of("docs/agents/tools.md")


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = run_page("docs/agents/tools.md", tmp_path, monkeypatch)
    assert list(names["search"].parameters["properties"]) == ["query"]
    assert [one.prefix for one in definition_of(names["Coder"]).of(MCPServer).values()] == ["git", "github"]
    for agent in ("Coder", "Refunds"):
        planned = build_plan(names[agent], f"page:{agent}").action("tool")
        assert planned is not None
        assert "_approval_response_event" in planned.resumed_by
    planned = build_plan(names["Support"], "page:Support").action("tool")
    assert planned is not None
    assert planned.resumed_by == ("_cancel_request_event",)


def test_every_option_and_every_member_of_the_context_is_told() -> None:
    options = set(tool.__kwdefaults__)
    assert {name for name in options if f"`{name}=`" not in PAGE} == set()
    options = set(MCPServer.__init__.__kwdefaults__)
    assert {name for name in options if f"`{name}=`" not in PAGE.split("## MCP servers")[1]} == set()
    assert {name for name in INJECTABLE if f"`{name}`" not in PAGE} == set()
