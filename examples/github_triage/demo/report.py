"""What the demo shows: a line that says what is happening, and the table at the end."""

import time
from collections.abc import Iterable
from typing import Self

from examples.github_triage.demo.expected import Expected
from examples.github_triage.demo.outage import Outage
from examples.github_triage.demo.readback import Found
from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text


class Progress:
    """One line for the step under way (on a terminal), and one for each that is done."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status = Status("", console=console)
        self._text = ""
        self._began = 0.0

    def __enter__(self) -> Self:
        self._status.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._status.stop()

    def step(self, text: str) -> None:
        """Begin a step."""
        self._text, self._began = text, time.monotonic()
        self._status.update(Text(text))

    def detail(self, text: str) -> None:
        """What the step under way has come to."""
        self._status.update(Text(f"{self._text}: {text}"))

    def done(self, text: str | None = None) -> None:
        """End the step, in other words if they are given."""
        seconds = time.monotonic() - self._began
        self._console.print(Text(f"{text or self._text} ({seconds:.1f} s)"))


def table_of(deliveries: int, expected: Expected, found: Found, outage: Outage, seconds: float) -> Table:
    """Make the short table: what was expected, what there is."""
    table = Table(title="GitHub triage on Parkway", title_justify="left")
    table.add_column("")
    table.add_column("expected", justify="right")
    table.add_column("found", justify="right")
    table.add_row("payloads emitted (each twice)", "", str(deliveries))
    for action in sorted({action for _, action in expected.routed}):
        owed = sum(count for (_, name), count in expected.routed.items() if name == action)
        table.add_row(f"routed to {action}", str(owed), str(found.routed_to(action)))
    table.add_row("routed to tool", "", str(found.routed_to("tool")))
    answers = sum(len(ids) for ids in found.answers.values())
    table.add_row("chats answered", str(len(expected.chats)), str(answers))
    table.add_row("chats failed", "0", str(len(found.failed)))
    table.add_row("tool rounds", "", str(found.tool_rounds.total()))
    table.add_row("outputs", str(expected.outputs.total()), str(found.outputs.total()))
    table.add_row("DLQ", "0", str(len(found.dead)))
    table.add_row("parked left", "0", str(len(found.parked)))
    table.add_row("seconds", "", f"{seconds:.0f}")
    partitions = _listed(outage.member.partitions)
    table.add_section()
    table.add_row(
        f"SIGKILL: {outage.process.name} (pid {outage.pid}), parked chats", "1+", str(len(outage.interrupted))
    )
    table.add_row(f"its partitions {partitions} waited, seconds", "<= 15", f"{outage.waited:.1f}")
    return table


def _listed(partitions: Iterable[int]) -> str:
    return ", ".join(str(partition) for partition in sorted(partitions))
