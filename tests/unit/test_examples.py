"""The examples are made alike, say what runs, and their answers are typed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from parkway.agents import build_plan, definition_of, load_agent

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/agent.py"))
SECTIONS = ["Run it", "With a real model", "Try what goes wrong", "The demo", "Its test"]


@pytest.fixture(autouse=True)
def no_real_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for name in ("PARKWAY_MODEL", "PARKWAY_EMBEDDER"):
        monkeypatch.delenv(name, raising=False)


def test_they_are_all_listed() -> None:
    listed = re.findall(r"^\| \[(\w+)\]\(\1/\) \|", (ROOT / "examples/README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == [example.name for example in EXAMPLES]
    assert len(listed) >= 6


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_each_is_made_like_the_others(example: Path) -> None:
    readme = (example / "README.md").read_text()
    sections = re.findall(r"^## (.*)$", readme, re.MULTILINE)
    assert sections == [each for each in SECTIONS if each in sections]
    assert {"Run it", "Its test"} <= set(sections)
    assert f"pytest examples/{example.name}\n" in readme
    assert (example / "test_agent.py").exists()
    for link in re.findall(r"\]\(([^)#:]+)", readme):
        assert (example / link).exists(), link
    source = re.findall(rf"parkway dev (examples\.{example.name}\.agent:\w+)$", readme, re.MULTILINE)[0]
    definition = definition_of(load_agent(source))
    assert (example / "model.py").exists() == bool(definition.chat_models)
    assert ("With a real model" in sections) == ("PARKWAY_MODEL" in "".join(map(read, example.glob("*.py"))))
    plan = build_plan(load_agent(source), source)
    told = set(re.findall(r"`([a-z-]+)`", "".join(re.findall(r"^\| (`[^|]*) \|", readme, re.MULTILINE))))
    assert told == {action.name for action in plan.actions}, "the table of its README"


def read(path: Path) -> str:
    return path.read_text()


def test_the_answer_of_support_triage_is_a_verdict_for_mypy(tmp_path: Path) -> None:
    file = tmp_path / "revealed_answers.py"
    file.write_text(
        "from examples.support_triage.agent import Support\n"
        "from parkway.agents import ChatResponseEvent\n"
        "def read(event: ChatResponseEvent) -> None:\n"
        "    reveal_type(Support.assistant)\n"
        "    reveal_type(Support.assistant.output(event))\n"
        "    reveal_type(Support.assistant.output(event).team)\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", str(file)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert re.findall(r'Revealed type is "(.*)"', run.stdout) == [
        "parkway.agents.chat_model.ChatModel[examples.support_triage.agent.Verdict]",
        "examples.support_triage.agent.Verdict",
        "Literal['billing'] | Literal['shipping'] | Literal['technical']",
    ], run.stdout + run.stderr
