"""`docs/triggers.md` says what is so: its triggers are counted, its refusals refused, its output printed."""

import io
import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from parkway.cli.main import main
from parkway.router.cel import TriggerEvaluationError, TriggerLoadError, compile_trigger
from parkway.schemas.plan import ActionPlan, Plan

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "triggers.md").read_text(encoding="utf-8")
EVENTS = [
    {"id": str(number), "type": "github", "attributes": json.loads(line)}
    for number, line in enumerate((ROOT / "examples/github_triage/github-webhooks.jsonl").read_text().splitlines())
]
PLAN = Plan(
    agent="github:Triage",
    accepts=("github",),
    actions=(
        ActionPlan(
            name="triage",
            triggers=("type == 'github' && (event == 'issues' && payload.action in ['opened', 'reopened'])",),
        ),
        ActionPlan(
            name="label",
            triggers=(
                "type == 'github' && payload.action == 'labeled'",
                "type == 'github' && payload.label.name == 'bug'",
            ),
        ),
    ),
)


def lines_of(kind):
    blocks = re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    return [re.split(r"\s+// ", line) for block in blocks for line in block.splitlines()]


def fires(trigger, event):
    try:
        return trigger.evaluate(event)
    except TriggerEvaluationError:
        return False


@pytest.mark.parametrize(("entry", "count"), lines_of("cel"))
def test_so_many_deliveries_fire(entry, count):
    trigger = compile_trigger(entry)
    assert sum(fires(trigger, event) for event in EVENTS) == int(count)


@pytest.mark.parametrize(("entry", "said"), lines_of("cel refused"))
def test_it_is_refused_with_these_words(entry, said, load_error):
    stage, words = said.split(": ", 1)
    error = load_error(compile_trigger, entry)
    assert error.stage == stage
    assert words in error.reason


def commands():
    for block in re.findall(r"^```console\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


@pytest.mark.parametrize(("command", "output"), list(commands()))
def test_a_command_prints_this(command, output, tmp_path, monkeypatch):
    (tmp_path / "plan.json").write_bytes(PLAN.to_json())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert sys.stdout.getvalue() == output


def test_the_page_has_what_these_tests_read():
    assert len(lines_of("cel")) > 10
    assert len(lines_of("cel refused")) > 5
    assert len(list(commands())) == 3


def test_every_difference_of_the_page_holds():
    for entry in ("attributes[key] == 1", "attributes == {}", "'a' in attributes", r"s.matches('\d')"):
        compile_trigger(entry)
    for entry in ("type(x) == int && false == x", "has(a.b) || has(name)"):
        assert compile_trigger(entry).kind == "expression"
    for entry in ("a.?b == 1", "1 + 1", "Foo{} == x"):
        with pytest.raises(TriggerLoadError):
            compile_trigger(entry)
