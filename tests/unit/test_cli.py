"""A wrong command line, setting, plan or broker: one clear line, the way out, exit code 2."""

import json
import re
import sys
from pathlib import Path

import pytest

from parkway.cli.durations import duration, parse_duration
from parkway.cli.main import main

AGENT = """
from parkway.agents import Agent, Context, Event, action

class Shop(Agent):
    @action("order", external=True)
    async def ship(self, event: Event, ctx: Context) -> None: ...

class Broken(Agent):
    @action("type == 'order' && amount >", external=False)
    async def ship(self, event: Event, ctx: Context) -> None: ...
"""


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Run `parkway` in an empty folder with an agent: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "cli_shop.py").write_text(AGENT)
    sys.modules.pop("cli_shop", None)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["parkway", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        output = capfd.readouterr()
        return ended.value.code or 0, output.out, output.err

    return run


def test_version(run):
    code, out, err = run("--version")
    assert (code, err) == (0, "")
    assert re.fullmatch(r"parkway \d\S*, librdkafka \d\S*, Python 3\.\d+\.\d+\n", out)


def test_plan_build_prints_a_plan(run):
    code, out, err = run("plan", "build", "cli_shop:Shop")
    assert (code, err) == (0, "")
    plan = json.loads(out)
    assert [action["name"] for action in plan["actions"]] == ["ship"]
    assert "order" in plan["accepts"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["plan", "build", "cli_shop"], "MODULE:AGENT"),
        (["plan", "build", "cli_shop:Shap"], "Shop"),
        (["plan", "build", "no_such:Shop"], "no_such"),
        (["plan", "build", "cli_shop:Broken"], "ship"),
        (["router", "--plan", "plan.json"], "parkway plan build"),
        (["router", "-b", "127.0.0.1:1"], "no Kafka broker answers"),
        (["plan", "apply"], "parkway plan build"),
        (["plan", "apply", "cli_shop.py"], "cli_shop.py"),
        (["plan", "diff"], "parkway plan build"),
        (["plan", "show", "-b", "127.0.0.1:1"], "no Kafka broker answers"),
        (["router", "--plan", "cli_shop.py"], "cli_shop.py"),
        (["topics", "apply"], "parkway plan build"),
        (["router", "-X", "group.id=mine"], "group.id"),
        (["router", "-X", "nonsense"], "KEY=VALUE"),
        (["emit", "--namespace", "Has Spaces"], "lower-case"),
        (["emit", "--key", "a", "--key-from", "b"], "--key-from"),
        (["worker", "cli_shop:Shop", "--action", "shipp"], "ship"),
        (["worker", "cli_shop:Shop", "-b", "127.0.0.1:1"], "parkway dev"),
        (["worker"], "MODULE:AGENT"),
        (["nosuch"], "nosuch"),
        (["parked", "list", "--older-than", "soon"], "90s, 10m, 2h or 1d"),
        (["parked", "list", "-b", "127.0.0.1:1"], "parkway dev"),
        (["requests", "cancel"], "ID"),
        (["requests", "cancel", "x", "--wait", "soon"], "--wait"),
    ],
)
def test_what_is_wrong_is_said_with_the_way_out_and_exit_code_2(run, monkeypatch, arguments, said):
    monkeypatch.setenv("PARKWAY_START_TIMEOUT", "1")
    code, _out, err = run(*arguments)
    assert code == 2
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "about", "kind", "said"),
    [
        (["plan", "apply", "nowhere.json"], {"plan": "nowhere.json"}, "plan", "parkway plan build"),
        (["plan", "apply", "plan.json", "-X", "nonsense"], {"plan": "plan.json"}, "settings", "KEY=VALUE"),
        (["requests", "cancel", "x", "--wait", "soon"], {"id": "x"}, "duration", "--wait"),
        (["requests", "cancel", "x", "--action", "tool", "--wait", "1s"], {"id": "x"}, "cannot_cancel", "leave it out"),
        (["approvals", "approve", "x", "-b", "127.0.0.1:1"], {"id": "x"}, "topology", "no Kafka broker answers"),
        (["approvals", "deny", "x", "--wait", "soon"], {"id": "x"}, "duration", "--wait"),
    ],
)
def test_with_json_what_is_wrong_is_json_too_and_the_exit_code_the_same(run, arguments, about, kind, said):
    code, out, err = run(*arguments, "--json")
    answer = json.loads(out)
    assert code == 2
    assert "error: " not in err  # a log line may stand there: nobody answers yet
    assert {**about, "error": {"type": kind, "message": answer["error"]["message"]}} == answer
    assert said in answer["error"]["message"]


def test_a_setting_in_the_environment_is_named(run, monkeypatch):
    monkeypatch.setenv("PARKWAY_SESSION_TIMEOUT", "soon")
    code, _out, err = run("emit")
    assert code == 2
    assert "PARKWAY_SESSION_TIMEOUT" in err


def test_a_plan_of_another_format_is_refused_with_its_field(run):
    code, out, _err = run("plan", "build", "cli_shop:Shop")
    assert code == 0
    plan = json.loads(out)
    for change, said in (({"v": 99}, "v"), ({"actions": []}, "actions"), ({"unknown": 1}, "unknown")):
        Path("plan.json").write_text(json.dumps({**plan, **change}))
        code, _out, err = run("router", "--plan", "plan.json")
        assert code == 2
        assert said in err


def test_times_are_read_and_written_as_people_do():
    assert [parse_duration(text, "--wait") for text in ("90", "90s", "1.5m", "2H", "1d")] == [90, 90, 90, 7200, 86400]
    shown = [duration(seconds) for seconds in (0, 59.9, 60, 605, 7320, 187_200, -75)]
    assert shown == ["0s", "59s", "1m", "10m 5s", "2h 2m", "2d 4h", "-1m 15s"]
