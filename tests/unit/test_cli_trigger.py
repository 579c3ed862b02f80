"""`parkway trigger`: what it prints, and what a user's mistake ends in."""

import io
import json
import sys

import pytest

from parkway.cli.main import main
from parkway.schemas.plan import ActionPlan, Plan

EVENT = {"id": "7", "type": "order.created", "attributes": {"amount": 50, "customer": {"id": "c-1"}}}


@pytest.fixture
def parkway(monkeypatch, capsys):
    """`parkway("trigger", ...)` runs the command in this process: (exit code, output, errors)."""

    def run(*arguments, stdin=""):
        monkeypatch.setattr(sys, "argv", ["parkway", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return ended.value.code, out, err

    return run


@pytest.fixture
def plan(tmp_path):
    """The path of a plan with three actions."""

    def write(**changes):
        made = Plan(
            agent="shop:Shop",
            actions=(
                ActionPlan(name="big", triggers=("type == 'order.created' && amount > 100", "order.audited")),
                ActionPlan(name="small", triggers=("type == 'order.created' && amount <= 100",)),
                ActionPlan(name="buyer", triggers=("custmer.id == 'c-1'",), resumed_by=("_tool_response_event",)),
            ),
            **changes,
        )
        path = tmp_path / "plan.json"
        path.write_bytes(made.to_json())
        return str(path)

    return write


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("order.created", "ok  order.created  (event type)\n"),
        ("amount > 100", "ok  amount > 100  (expression, for events of any type)\n"),
        ("type in ['b', 'a'] && x == 1", "ok  type in ['b', 'a'] && x == 1  (expression, for a, b)\n"),
    ],
)
def test_check_says_what_a_trigger_is(text, said, parkway):
    assert parkway("trigger", "check", text) == (0, said, "")


def test_check_warns(parkway):
    code, out, err = parkway("trigger", "check", r"name.matches('^o_\d+$') && (x == 1 || x == 'a')")
    assert (code, err) == (0, "")
    assert out.splitlines()[1:] == [
        r"  warning: `\d` keeps its backslash in an ordinary string; write r'...' to say so",
        "  warning: `x` is compared with a number (`x == 1`) and with a string (`x == 'a'`)",
    ]


def test_check_shows_the_place_of_an_error(parkway):
    code, out, err = parkway("trigger", "check", "type == EventType.InptEvent")
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        "error: unknown EventType.InptEvent (did you mean InputEvent?)",
        "  type == EventType.InptEvent",
        "                    ^",
    ]


def test_check_takes_a_file_and_names_its_lines(parkway, tmp_path):
    file = tmp_path / "triggers.txt"
    file.write_text("# ours\norder.created\n\namount = 1\n(flag)\n")
    code, out, err = parkway("trigger", "check", str(file))
    assert code == 2
    assert out.splitlines()[0] == f"{file}:2: ok  order.created  (event type)"
    assert f"{file}:4: syntax: unexpected `=`: write `==`" in out
    assert err == f"error: 2 of 3 triggers do not load: {file}:4, {file}:5\n"


def test_check_takes_a_plan_and_compares_the_triggers_of_an_action(parkway, tmp_path):
    made = Plan(agent="a:B", actions=(ActionPlan(name="big", triggers=("a", "type == 'a' && x == 1")),))
    file = tmp_path / "plan.json"
    file.write_bytes(made.to_json())
    code, out, _ = parkway("trigger", "check", str(file))
    assert code == 0
    assert out.splitlines()[-1] == "  warning: it is not needed: `a` of the same action fires whenever it does"


def test_check_as_json(parkway, tmp_path):
    file = tmp_path / "triggers.txt"
    file.write_text("x == 1 || x == 'a'\nx =\n")
    code, out, _ = parkway("trigger", "check", str(file), "--json")
    first, second = json.loads(out)
    assert code == 2
    assert (first["loads"], first["kind"], first["event_types"], len(first["warnings"])) == (
        True,
        "expression",
        None,
        1,
    )
    assert second["error"] == {"stage": "syntax", "reason": "unexpected `=`: write `==`", "position": 2}


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("nowhere.json", "no such file"),
        ("empty.txt", "holds no trigger"),
        ("binary.txt", "cannot be read as UTF-8"),
        ("broken.json", "broken.json: "),
        ("", "blank"),
    ],
)
def test_check_of_nothing_is_one_line(source, reason, parkway, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.txt").write_text("# nothing\n")
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe")
    (tmp_path / "broken.json").write_text("{")
    code, _, err = parkway("trigger", "check", source)
    assert code == 2
    assert reason in err.splitlines()[0]


def test_explain_shows_a_tree_and_why(parkway, plan):
    code, out, err = parkway("trigger", "explain", "--plan", plan(), "--event", json.dumps(EVENT))
    assert (code, err) == (0, "")
    assert out == (
        """\
event order.created  id 7
fires small
from outside this type is refused: the plan does not accept it

big  does not fire
├─ false  type == 'order.created' && amount > 100
│  why: `amount > 100` is false (amount is 50)
│  ├─ type == 'order.created' = true
│  │  └─ type = 'order.created'
│  └─ amount > 100 = false
│     └─ amount = 50
└─ false  order.audited
   why: `type == 'order.audited'` is false (type is 'order.created')

small  fires by type == 'order.created' && amount <= 100
└─ fires  type == 'order.created' && amount <= 100
   because: `type == 'order.created'` is true (type is 'order.created'); `amount <= 100` is true (amount is 50)
   ├─ type == 'order.created' = true
   │  └─ type = 'order.created'
   └─ amount <= 100 = true
      └─ amount = 50

buyer  does not fire
└─ error  custmer.id == 'c-1'
   why: `custmer.id == 'c-1'` is an error: no such field 'custmer'
   └─ custmer.id = error: no such field 'custmer'
      └─ custmer = error: no such field 'custmer' (there are: amount, customer)
"""
    )


def test_explain_says_what_an_error_does(parkway, plan):
    _, out, _ = parkway("trigger", "explain", "--plan", plan(on_trigger_error="fail"), "--event", json.dumps(EVENT))
    assert "on_trigger_error is fail: an error below sends the event to the DLQ" in out


def test_explain_says_what_an_event_resumes(parkway, plan):
    _, out, _ = parkway("trigger", "explain", "--plan", plan(), "-e", '{"type": "_tool_response_event"}')
    assert "resumes buyer, if it waits for this event" in out


def test_explain_one_action_as_json_from_standard_input(parkway, plan):
    code, out, _ = parkway(
        "trigger", "explain", "--plan", plan(), "--event", "-", "--action", "small", "--json", stdin=json.dumps(EVENT)
    )
    explained = json.loads(out)
    assert code == 0
    assert explained["fires"] == ["small"]
    assert [action["action"] for action in explained["actions"]] == ["small"]
    tree = explained["actions"][0]["triggers"][0]["tree"]
    assert tree["value"] is True
    assert tree["parts"][1] == {
        "expression": "amount <= 100",
        "value": True,
        "parts": [{"expression": "amount", "value": 50, "parts": []}],
    }


def test_explain_reads_an_event_from_a_file(parkway, plan, tmp_path):
    file = tmp_path / "event.json"
    file.write_text(json.dumps({**EVENT, "type": "order.audited"}))
    _, out, _ = parkway("trigger", "explain", "--plan", plan(), "--event", str(file))
    assert "big  fires by order.audited" in out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--event", "nowhere"], "--event nowhere: No such file or directory; give a file, `-` or JSON text"),
        (["--event", "{"], "--event: the text is no event: not JSON"),
        (["--event", '{"a": 1}'], "--event: the text is no event: type: expected a non-empty string"),
        (["--event", "-"], "--event: - is no event: not JSON"),
        (["--event", '{"type": "a"}', "--action", "bg"], "--action bg: the plan has no such action; it has big, small, buyer"),
    ],
)  # fmt: skip
def test_explain_says_what_is_wrong_in_one_line(arguments, reason, parkway, plan):
    code, out, err = parkway("trigger", "explain", "--plan", plan(), *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {reason}")
    assert err.count("\n") == 1


def test_a_plan_that_is_missing_says_how_to_make_one(parkway, tmp_path):
    code, _, err = parkway("trigger", "explain", "--plan", str(tmp_path / "none.json"), "--event", '{"type": "a"}')
    assert code == 2
    assert "parkway plan build" in err


def test_colours_are_for_terminals_only(parkway, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    _, coloured, _ = parkway("trigger", "check", "amount > 100")
    monkeypatch.delenv("FORCE_COLOR")
    _, plain, _ = parkway("trigger", "check", "amount > 100")
    assert "\x1b[32m" in coloured
    assert "\x1b" not in plain


def test_plan_build_warns_on_standard_error(parkway, tmp_path, monkeypatch):
    (tmp_path / "lintshop.py").write_text(
        "from parkway.agents import Agent, Context, Event, action\n\n\n"
        "class Shop(Agent):\n"
        '    @action("a", "type == \'a\' && x == 1")\n'
        "    async def buy(self, event: Event, ctx: Context) -> None: ...\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO()))
    _, _, err = parkway("plan", "build", "lintshop:Shop")
    assert err == (
        "warning: action 'buy': trigger `type == 'a' && x == 1`: it is not needed: `a` of the same action fires "
        "whenever it does\n"
    )
