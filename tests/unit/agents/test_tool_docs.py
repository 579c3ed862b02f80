"""The Python of docs/agents/tools.md runs, and builds plans; its tables say what the code does."""

import re
from pathlib import Path
from typing import Any

from parkway.agents import MCPServer, build_plan, definition_of, tool
from parkway.agents.tool_context import INJECTABLE

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/agents/tools.md").read_text()


def test_the_examples_run() -> None:
    names: dict[str, Any] = {"__name__": "tools_page"}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 5
    for block in blocks:
        exec(compile(block, "tools.md", "exec"), names)
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
