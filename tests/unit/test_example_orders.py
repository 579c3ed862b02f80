"""The example of user actions: it passes strict type checks, and builds into a plan."""

import subprocess
import sys
from pathlib import Path

from parkway.agents import build_plan, load_agent

ROOT = Path(__file__).parents[2]


def test_mypy_strict_passes_and_sees_what_is_wrong(tmp_path):
    example = ROOT / "examples" / "orders" / "agent.py"
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "from parkway.agents import Context\n"
        "async def charge(amount: float) -> str: return ''\n"
        "async def pay(ctx: Context) -> None:\n"
        "    receipt: int = await ctx.step('charge', charge, 3.0)\n"
        "    await ctx.step('charge', charge, 'three')\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", str(example), str(wrong)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    errors = [line for line in run.stdout.splitlines() if ": error:" in line]
    # By name: mypy remembers the folder that it met this file in first.
    assert all(f"/{wrong.name}:" in line for line in errors), run.stdout
    lines = {line.split(":")[1] for line in errors}
    assert lines == {"4", "5"}, run.stdout


def test_it_builds(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    plan = build_plan(load_agent("examples.orders.agent:Orders"), "examples.orders.agent:Orders")
    assert [action.name for action in plan.actions] == ["pay", "greet"]
    assert [sink.topic for sink in plan.sinks] == ["shop.orders.done"]
