"""`parkway trigger`: does a trigger load, and why does an event fire the actions that it fires?"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.text import Text

from parkway.cli.options import PlanFile, read_plan
from parkway.cli.shown import json_text
from parkway.router.cel import Trigger, TriggerLoadError, compile_trigger
from parkway.router.cel.lint import lint_action, lint_trigger
from parkway.router.explain import ActionExplanation, Explanation, Step, TriggerExplanation, explain
from parkway.router.table import TriggerTable
from parkway.schemas.errors import ParkwayError
from parkway.schemas.event import Event
from parkway.schemas.json_form import EventError
from parkway.schemas.plan import Plan

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, help="Triggers: check and explain them.")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_RESULT: Final = {True: ("fires", "green"), False: ("false", "dim"), None: ("error", "red")}


class TriggerCommandError(ParkwayError):
    """A file or an event that cannot be read, or triggers that do not load."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A trigger to check, and where it stands. The triggers of one `group` are OR'ed."""

    where: str
    group: str
    text: str


@app.command("check")
def check(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE|TEXT", help="A trigger; or a plan, or a file of triggers, one a line (# comments)."
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Compile triggers, and say what is wrong or doubtful with them. Exit 2 when one does not load.

    For example:

      parkway trigger check "amount > 100 && has(customer.vip)"

      parkway trigger check plan.json --json
    """
    checked = [(entry, _compiled(entry.text)) for entry in _entries(source)]
    warnings = _warnings(checked)
    if as_json:
        report = [_checked_json(entry, got, warnings[number]) for number, (entry, got) in enumerate(checked)]
        typer.echo(json_text(report, indent=2))
    elif len(checked) > 1 or isinstance(checked[0][1], Trigger):
        console = _console()
        for number, (entry, got) in enumerate(checked):
            _print_checked(console, entry, got, warnings[number])
    failed = [(entry.where, got) for entry, got in checked if isinstance(got, TriggerLoadError)]
    if failed and len(checked) == 1:
        raise failed[0][1]
    if failed:
        places = ", ".join(where for where, _ in failed[:5])
        raise TriggerCommandError(f"{len(failed)} of {len(checked)} triggers do not load: {places}")


@app.command("explain")
def explain_event(
    event: Annotated[
        str,
        typer.Option("--event", "-e", metavar="EVENT", help="A file, `-` for standard input, or JSON text."),
    ],
    plan: PlanFile = Path("plan.json"),
    action: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this action.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say which actions an event fires and why, with the value of every sub-expression of every trigger.

    For example:

      parkway trigger explain --event '{"type": "ticket", "attributes": {"amount": 250}}'
    """
    in_force = read_plan(plan)
    chosen = _chosen(in_force, action or [])
    explanation = explain(TriggerTable(chosen), _read_event(event))
    resumed = [each.name for each in in_force.actions if explanation.event_type in each.resumed_by]
    if as_json:
        report = {**explanation.to_json(), "resumes": resumed}
        typer.echo(json_text(report, indent=2))
        return
    _print_explanation(_console(), explanation, resumed, in_force)


def _console() -> Console:
    return Console(file=sys.stdout, highlight=False, soft_wrap=True)


def _entries(source: str) -> Iterator[_Entry]:
    path = Path(source)
    if not _is_file(path):
        if path.suffix in (".json", ".txt"):
            raise TriggerCommandError(f"{source}: no such file; to check it as an event type, write it in quotes")
        yield _Entry("", "", source)
        return
    try:
        data = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TriggerCommandError(f"{source}: cannot be read as UTF-8 text: {error}") from None
    if data.lstrip().startswith("{") and path.suffix == ".json":
        for each in Plan.from_json(data.encode(), source=source).actions:
            for text in each.triggers:
                yield _Entry(f"action {each.name}", each.name, text)
        return
    lines = [(number, line.strip()) for number, line in enumerate(data.splitlines(), 1)]
    entries = [_Entry(f"{source}:{number}", "", line) for number, line in lines if line and not line.startswith("#")]
    if not entries:
        raise TriggerCommandError(f"{source}: holds no trigger; write one a line")
    yield from entries


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # an expression is no good file name
        return False


def _compiled(text: str) -> Trigger | TriggerLoadError:
    try:
        return compile_trigger(text)
    except TriggerLoadError as error:
        return error


def _warnings(checked: Sequence[tuple[_Entry, Trigger | TriggerLoadError]]) -> list[list[str]]:
    """Of each trigger alone, and (in a plan) beside the others of its action."""
    warnings: list[list[str]] = [[] for _ in checked]
    groups: dict[str, list[tuple[int, Trigger]]] = {}
    for number, (entry, got) in enumerate(checked):
        if isinstance(got, Trigger):
            warnings[number] += lint_trigger(got)
            if entry.group:
                groups.setdefault(entry.group, []).append((number, got))
    for members in groups.values():
        for position, warning in lint_action([trigger for _, trigger in members]):
            warnings[members[position][0]].append(warning)
    return warnings


def _checked_json(entry: _Entry, got: Trigger | TriggerLoadError, warnings: list[str]) -> dict[str, Any]:
    report: dict[str, Any] = {"trigger": entry.text, "where": entry.where, "loads": isinstance(got, Trigger)}
    if isinstance(got, TriggerLoadError):
        return {**report, "error": {"stage": got.stage, "reason": got.reason, "position": got.position}}
    types = None if got.event_types is None else sorted(got.event_types)
    return {**report, "kind": got.kind, "event_types": types, "warnings": warnings}


def _print_checked(console: Console, entry: _Entry, got: Trigger | TriggerLoadError, warnings: list[str]) -> None:
    where = f"{entry.where}: " if entry.where else ""
    if isinstance(got, TriggerLoadError):
        console.print(Text(f"{where}{got.stage}: {got}", style="red"))
        return
    if got.kind == "event-type":
        said = "event type"
    elif got.event_types is None:
        said = "expression, for events of any type"
    else:
        said = f"expression, for {', '.join(sorted(got.event_types))}"
    console.print(Text.assemble((f"{where}ok", "green"), f"  {got.entry}  ({said})"))
    for warning in warnings:
        console.print(Text(f"  warning: {warning}", style="yellow"))


def _chosen(plan: Plan, names: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    for name in names:
        if plan.action(name) is None:
            known = ", ".join(each.name for each in plan.actions)
            raise TriggerCommandError(f"--action {name}: the plan has no such action; it has {known}")
    return [(each.name, each.triggers) for each in plan.actions if not names or each.name in names]


def _read_event(source: str) -> dict[str, Any]:
    try:
        if source == "-":
            data: str | bytes = sys.stdin.buffer.read()
        elif source.lstrip().startswith("{"):
            data = source
        else:
            data = Path(source).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TriggerCommandError(f"--event {source[:60]}: {reason}; give a file, `-` or JSON text") from None
    try:
        return Event.from_json(data).to_dict()
    except EventError as error:
        name = "the text" if source.lstrip().startswith("{") else source
        raise TriggerCommandError(
            f'--event: {name} is no event: {error}; write one, as in {{"type": "order.created", "attributes": {{}}}}'
        ) from None


def _print_explanation(console: Console, explanation: Explanation, resumed: list[str], plan: Plan) -> None:
    console.print(Text.assemble("event ", (explanation.event_type, "bold"), f"  id {explanation.event_id}"))
    if explanation.fires:
        console.print(Text.assemble("fires ", (", ".join(explanation.fires), "bold green")))
    else:
        console.print(Text("fires nothing", style="bold"))
    if resumed:
        console.print(Text(f"resumes {', '.join(resumed)}, if it waits for this event"))
    if explanation.event_type not in plan.accepts:
        console.print(Text("from outside this type is refused: the plan does not accept it", style="yellow"))
    failed = [each for action in explanation.actions for each in action.triggers if each.error is not None]
    if failed and plan.on_trigger_error == "fail":
        console.print(Text("on_trigger_error is fail: an error below sends the event to the DLQ", style="red"))
    for each in explanation.actions:
        console.print()
        _print_action(console, each)


def _print_action(console: Console, explained: ActionExplanation) -> None:
    if explained.fired_by is None:
        console.print(Text.assemble((explained.action, "bold"), "  does not fire"))
    else:
        by = Text(f"  fires by {explained.fired_by.entry}", style="green")
        console.print(Text.assemble((explained.action, "bold green"), by))
    for number, trigger in enumerate(explained.triggers):
        _print_trigger(console, trigger, last=number == len(explained.triggers) - 1)


def _print_trigger(console: Console, explained: TriggerExplanation, *, last: bool) -> None:
    word, style = _RESULT[explained.result]
    branch, below = ("└─ ", "   ") if last else ("├─ ", "│  ")
    console.print(Text.assemble(branch, (f"{word:5}  ", style), (explained.trigger.entry, "bold")))
    console.print(Text.assemble(below, (f"{'because' if explained.result else 'why'}: {explained.reason}", style)))
    if explained.trigger.kind == "expression":
        _print_steps(console, explained.tree.parts, below)


def _print_steps(console: Console, steps: tuple[Step, ...], indent: str) -> None:
    for number, step in enumerate(steps):
        last = number == len(steps) - 1
        branch, below = ("└─ ", "   ") if last else ("├─ ", "│  ")
        console.print(Text.assemble(indent, branch, step.text, " = ", (step.shown, _style(step))))
        _print_steps(console, step.parts, indent + below)


def _style(step: Step) -> str:
    if step.error is not None:
        return "red"
    if isinstance(step.value, bool):
        return "green" if step.value else "yellow"
    return "cyan"
