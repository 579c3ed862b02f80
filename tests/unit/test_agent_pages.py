"""docs/agents.md and the pages that it leads to: all of their Python runs, their agents build, their links lead somewhere."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from doc_pages import ROOT, blocks_of, run_page, text_of

from parkway.agents import Agent, ReActAgent, build_plan, definition_of, load_agent

PAGES = ["docs/agents.md", *(f"docs/agents/{path.name}" for path in sorted((ROOT / "docs/agents").glob("*.md")))]


@pytest.mark.parametrize("page", PAGES)
def test_its_python_runs_and_its_agents_build(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = run_page(page, tmp_path, monkeypatch)
    for name, value in list(names.items()):
        is_class = isinstance(value, type) and issubclass(value, Agent) and value not in (Agent, ReActAgent)
        if is_class or isinstance(value, Agent):
            definition = definition_of(value)
            if definition.actions or definition.chat_models:
                assert build_plan(value, f"page:{name}").actions
    for file in tmp_path.glob("*.yaml"):
        assert build_plan(load_agent(str(file)), file.name).actions


@pytest.mark.parametrize("page", PAGES)
def test_its_links_lead_somewhere(page: str) -> None:
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", text_of(page)):
        file = (ROOT / page).parent / target if target else ROOT / page
        assert file.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", file.read_text(), re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in anchors, f"{target}#{anchor}"


def test_the_entry_page_leads_to_all() -> None:
    entry = text_of("docs/agents.md")
    for page in PAGES[1:]:
        assert f"(agents/{Path(page).name})" in entry
    assert "docs/agents.md" in (ROOT / "README.md").read_text()


def test_the_first_agent_is_tested_as_its_page_tests_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = run_page("docs/agents.md", tmp_path, monkeypatch)
    tests = [value for name, value in names.items() if name.startswith("test_")]
    assert len(tests) == 2
    for each in tests:
        each()


async def test_the_first_agent_puts_out_what_its_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from parkway.testing import AgentTest

    page = text_of("docs/agents.md")
    sent = re.findall(r"^ +echo '(.*)' \| parkway emit --type ticket", page, re.MULTILINE)
    shown = re.findall(r'^\{"customer".*\}$', page, re.MULTILINE)
    assert len(sent) == len(shown) == 2
    support: Any = run_page("docs/agents.md", tmp_path, monkeypatch)["Support"]
    from parkway.schemas.jsonio import loads

    async with AgentTest(support) as test:
        for line in sent:
            await test.send({"type": "ticket", "attributes": loads(line.encode())}, key="one")
        await test.run()
        assert [loads(line.encode()) for line in shown] == test.outputs


def test_every_section_of_the_page_about_yaml_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("docs/agents/yaml.md", tmp_path, monkeypatch)
    whole, members = blocks_of("docs/agents/yaml.md", "yaml")
    agent = {"name": "page", **yaml.safe_load(members.replace("on: [", "'on': ["))}
    Path("members.yaml").write_text(yaml.safe_dump({"agents": [agent]}))
    plan = build_plan(load_agent("members.yaml"), "members.yaml")
    names = [each.name for each in plan.actions]
    assert names == ["close-order", "chat", "tool", "retrieval", "decision"]
    assert "chat_model_setups" in whole


def test_every_member_stands_on_the_page_about_yaml() -> None:
    from parkway.agents.declarative import document_schema

    page = text_of("docs/agents/yaml.md")
    for name in document_schema()["$defs"]["AgentSpec"]["properties"]:
        assert f"{name}:" in page, name
