"""`parkway dlq replay`: say what would go back where, ask, and do it."""

import itertools
import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from parkway.cli.ask import confirm
from parkway.cli.dlq_options import (
    Actions,
    AsJson,
    EventId,
    KeyText,
    Reasons,
    Since,
    Types,
    Until,
    make_filters,
    parse_place,
)
from parkway.cli.dlq_replay import Outcome, Replay
from parkway.cli.dlq_target import Stays, Targets
from parkway.cli.dlq_topic import DeadLetter, DlqTopic
from parkway.cli.options import Bootstrap, KafkaSettings, Namespace, make_settings
from parkway.runtime.clients import admin_client
from parkway.runtime.topology import cluster


def replay(
    place: Annotated[
        str | None, typer.Argument(metavar="TOPIC/PARTITION/OFFSET", help="This record; default: all that fit.")
    ] = None,
    reason: Reasons = None,
    action: Actions = None,
    event_type: Types = None,
    key: KeyText = None,
    event_id: EventId = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many.")] = None,
    sources: Annotated[
        bool, typer.Option("--sources", help="Also to topics of yours that the plan reads; all their readers see it.")
    ] = False,
    keep_deadlines: Annotated[
        bool, typer.Option("--keep-deadlines", help="Leave deadlines that have passed: they end at once.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would do, and do nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
    bootstrap_servers: Bootstrap = None,
    namespace: Namespace = None,
    kafka: KafkaSettings = None,
) -> None:
    """Put dead letters back where they came from, each exactly once.

    Topic, partition, key, value and headers are those that the record had; `parkway-replays` counts. It is done in
    transactions with a marker: nothing is put back twice, by a second run, by two at once, or after kill -9. Ctrl-C
    stops between two transactions; another run goes on. Mend what was wrong first.

    Exit 1 when it was stopped, or Kafka refused a record.

    For example:

      parkway dlq replay --reason action_failed --action triage --since 2h --dry-run

      parkway dlq replay parkway.dlq/3/1742 --yes
    """
    settings = make_settings(kafka, bootstrap_servers=bootstrap_servers, namespace=namespace)
    at = parse_place(place, settings) if place is not None else None
    filters = make_filters(reason, action, event_type, key, event_id, since, until, at)
    admin = admin_client(settings, f"{settings.namespace}.dlq")
    topic = DlqTopic(settings, admin, since=filters.since)
    there = cluster(admin, settings.bootstrap_servers).topics
    counts = {name: len(found.partitions) for name, found in there.items()}
    targets = Targets(settings.topics, counts, sources=sources, keep_deadlines=keep_deadlines)
    topic.read_markers()
    wanted = _preview(itertools.islice(topic.letters(filters), limit), targets)
    _say(wanted, "would go back", as_json=as_json and dry_run)
    if dry_run or wanted.count == 0:
        return
    if not yes:
        confirm(f"Put {wanted.count:,} records back?")
    stop = _Stop()
    with stop.at_ctrl_c(), _progress(wanted.count + wanted.stayed.total()) as advance:
        run = Replay(settings, topic, targets, progress=advance, stopping=stop)
        failure = run.run(itertools.islice(topic.letters(filters), limit))
    outcome = run.outcome
    _say(outcome, "went back", as_json=as_json)
    if failure is not None:
        typer.echo(f"error: {failure}", err=True)
        raise typer.Exit(1)
    if outcome.stopped or any(why.startswith("are refused") for why in outcome.stayed):
        raise typer.Exit(1)


def _preview(letters: Iterator[DeadLetter], targets: Targets) -> Outcome:
    outcome = Outcome()
    for letter in letters:
        target = targets.of(letter)
        if isinstance(target, Stays):
            outcome.stayed[target.why] += 1
        else:
            outcome.replayed[target.topic] += 1
    return outcome


def _say(outcome: Outcome, verb: str, *, as_json: bool) -> None:
    if as_json:
        stayed = dict(outcome.stayed)
        typer.echo(json.dumps({"replayed": dict(outcome.replayed), "stay": stayed, "stopped": outcome.stopped}))
        return
    for topic, count in sorted(outcome.replayed.items()):
        typer.echo(f"{count:>7,} {verb} to {topic}")
    for why, count in outcome.stayed.most_common():
        typer.echo(f"{count:>7,} stay: they {why}")
    if outcome.elsewhere:
        typer.echo(f"{outcome.elsewhere:>7,} another replay had put back meanwhile")
    if not outcome.replayed and not outcome.stayed and not outcome.elsewhere:
        typer.echo("no dead letter fits")
    if outcome.stopped:
        typer.echo("stopped: run it again to go on", err=True)


class _Stop:
    """Ctrl-C ends a run between two transactions; a second one ends the process."""

    def __init__(self) -> None:
        self._asked = False

    def __call__(self) -> bool:
        return self._asked

    @contextmanager
    def at_ctrl_c(self) -> Iterator[None]:
        before = signal.getsignal(signal.SIGINT)

        def ask(*_: object) -> None:
            self._asked = True
            signal.signal(signal.SIGINT, before)

        try:
            signal.signal(signal.SIGINT, ask)
        except ValueError:  # not the main thread
            yield
            return
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal; nothing elsewhere."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("replay"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task("replay", total=total)
        yield lambda count: bar.advance(task, count)
