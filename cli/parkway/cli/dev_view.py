"""What `parkway dev` shows: lines, and on a terminal below them the newest runs."""

import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from parkway.cli.dev_feed import Happening, Kind
from parkway.cli.durations import duration
from parkway.cli.shown import one_line

_RUNS: Final = 8
_KEPT: Final = 500
_WIDTH: Final = 300
_STYLES: Final[dict[Kind, str]] = {
    "request": "bold",
    "trigger": "cyan",
    "sent": "dim",
    "call": "magenta",
    "output": "green",
    "response": "green",
    "dead": "bold red",
}
_WORDS: Final[dict[Kind, str]] = {"request": "request", "trigger": "trigger", "sent": "event", "call": "call"}


class View(Protocol):
    """Called from several threads."""

    def tell(self, happening: Happening) -> None:
        """Something was committed."""

    def say(self, who: str, text: str) -> None:
        """A line of `dev` itself, or of one of its processes."""

    def close(self) -> None:
        """Nothing is shown any more."""


class PlainView:
    """A line each, for pipes, logs and `--plain`."""

    def tell(self, happening: Happening) -> None:
        typer.echo(_line(happening))
        sys.stdout.flush()

    def say(self, who: str, text: str) -> None:
        typer.echo(f"{who:<8} {text}" if who else text)
        sys.stdout.flush()

    def close(self) -> None:
        return


@dataclass(slots=True)
class _Run:
    type: str
    began: int
    newest: int
    last: str = ""
    calls: int = 0
    tokens: int = 0
    outputs: int = 0
    dead: int = 0

    def add(self, happening: Happening) -> None:
        self.newest = max(self.newest, happening.when)
        self.last = happening.text
        self.calls += happening.kind == "call"
        self.tokens += happening.tokens
        self.outputs += happening.kind in {"output", "response"}
        self.dead += happening.kind == "dead"


class LiveView:
    """Lines scroll above; the newest runs and the processes stand below. `states` says how the processes are."""

    def __init__(self, console: Console, states: Callable[[], str]) -> None:
        self._states = states
        self._runs: OrderedDict[str, _Run] = OrderedDict()
        self._lock = threading.Lock()
        self._live = Live(
            console=console, get_renderable=self._below, refresh_per_second=4, transient=True, redirect_stdout=False
        )
        self._live.start()

    def tell(self, happening: Happening) -> None:
        with self._lock:
            run = self._runs.get(happening.root)
            if run is None:
                run = self._runs[happening.root] = _Run(happening.type or "?", happening.when, happening.when)
                while len(self._runs) > _KEPT:
                    self._runs.popitem(last=False)
            run.add(happening)
            if happening.type:
                run.type = happening.type
        self._live.console.print(Text(_line(happening), _STYLES[happening.kind], no_wrap=True, overflow="ellipsis"))

    def say(self, who: str, text: str) -> None:
        self._live.console.print(Text(f"{who:<8} {text}" if who else text, "yellow" if who else ""))

    def close(self) -> None:
        self._live.stop()

    def _below(self) -> Group:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for name in ("RUN", "TYPE", "SINCE", "TOOK", "CALLS", "TOKENS", "OUT", "DLQ", "LAST"):
            table.add_column(name, no_wrap=True, overflow="ellipsis", ratio=1 if name == "LAST" else None)
        now = time.time()
        with self._lock:
            newest = list(self._runs.items())[-_RUNS:]
        for root, run in newest:
            numbers = [str(run.calls), str(run.tokens), str(run.outputs), str(run.dead)]
            took = f"{(run.newest - run.began) / 1000:.1f} s"
            cells = [root[:24], run.type, duration(max(0.0, now - run.began / 1000)), took, *numbers, run.last]
            table.add_row(*(Text(one_line(cell)) for cell in cells))  # a `str` would be read as markup
        rule = Text("─" * 20, "dim")
        return Group(rule, table, Text(self._states(), "dim")) if newest else Group(rule, Text(self._states(), "dim"))


def _line(happening: Happening) -> str:
    when = datetime.fromtimestamp(happening.when / 1000).astimezone().strftime("%H:%M:%S.%f")[:-3]
    word = {"dead": "dead"}.get(happening.kind, _WORDS.get(happening.kind, "output"))
    text = happening.text.removeprefix("output ") if happening.kind == "output" else happening.text
    text = text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"
    return one_line(f"{when}  {happening.root[:12]:<12}  {word:<7}  {text}")
