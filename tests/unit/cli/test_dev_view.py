"""What `parkway dev` shows of what happens."""

import io

from rich.console import Console

from parkway.cli.dev_feed import Happening
from parkway.cli.dev_view import LiveView, PlainView


def _happenings() -> list[Happening]:
    return [
        Happening(1_000, "t-1", "request", "ticket {}", "ticket"),
        Happening(1_010, "t-1", "trigger", "ask takes ticket"),
        Happening(1_020, "t-1", "call", "chat: model assistant round 1, 7 ms, 60 tokens", tokens=60),
        Happening(1_030, "t-1", "output", 'output {"answer": 1}'),
        Happening(3_000, "t-2", "dead", "DLQ bad_request: no"),
    ]


def test_lines_name_the_run_and_what_it_is(capsys) -> None:
    view = PlainView()
    for happening in _happenings():
        view.tell(happening)
    view.say("dev", "ready")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1:4] for line in lines[:2]] == [["t-1", "request", "ticket"], ["t-1", "trigger", "ask"]]
    assert lines[3].endswith('t-1           output   {"answer": 1}')
    assert "dead     DLQ bad_request: no" in lines[4]
    assert lines[5] == "dev      ready"


def test_the_newest_runs_stand_below_the_lines() -> None:
    console = Console(file=io.StringIO(), width=140, force_terminal=False)
    view = LiveView(console, lambda: "ready: router runs")
    for happening in _happenings():
        view.tell(happening)
    shown = Console(file=io.StringIO(), width=140)
    shown.print(view._below())
    view.close()
    rows = [line.split() for line in shown.file.getvalue().splitlines()]
    assert rows[2][:2] == ["t-1", "ticket"]
    assert " 0.0 s 1 60 1 0 " in " ".join(rows[2])  # after the age, whose words are one or two
    assert rows[3][0] == "t-2"
    assert rows[-1] == ["ready:", "router", "runs"]
    assert "ask takes ticket" in console.file.getvalue()
