"""What a doctor sees of routers and workers: who is there, who stands still, who has died."""

import time
from collections.abc import Iterator
from typing import Final

from confluent_kafka.admin import AdminClient

from parkway.cli.durations import duration
from parkway.cli.findings import Finding, ok, unknown, warning, wrong
from parkway.cli.lag_numbers import LagReader, Waiting
from parkway.cli.positions import positions_of
from parkway.runtime.settings import Settings
from parkway.schemas.plan import Plan
from parkway.workers.completion import MapError, decode

_LOOK_AGAIN: Final = 3.0
_OLD: Final = 60.0


def check_groups(settings: Settings, admin: AdminClient, plan: Plan) -> Iterator[Finding]:
    """Looks twice, some seconds apart, where something waits for long."""
    reader = LagReader(settings, admin, [source.topic for source in plan.sources])
    first = {one.name: one for one in reader.read()}
    suspicious = [name for name, one in first.items() if one.total() and _age(one) > _OLD and _members(one)]
    if suspicious:
        time.sleep(_LOOK_AGAIN)
        second = {one.name: one for one in reader.read()}
    for name, one in first.items():
        if name != "router" and plan.action(name) is None:
            if one.total():
                text = f"action {name} is not in the plan in force, and has {one.total():,} records not handled"
                yield warning("groups", text, "`parkway worker` with code that knows it, or delete its topics")
            continue
        stands = name in suspicious and second[name].behind == one.behind
        yield _of(name, one, stands=stands)
        if name != "router":
            yield from _deaths(settings, admin, name, list(one.behind))


def _of(name: str, one: Waiting, *, stands: bool) -> Finding:
    who = "routers" if name == "router" else f"action {name}"
    command = "parkway router" if name == "router" else f"parkway worker MODULE:AGENT --action {name}"
    if one.group is None:
        return unknown("groups", f"{who}: the group may not be described", "give this principal Describe on it")
    members = _members(one)
    waits = f"{one.total():,} records not completed" + (f", the oldest {duration(_age(one))}" if one.total() else "")
    if not members:
        if one.total() or name == "router":
            return wrong("groups", f"{who}: nobody runs it; {waits}", f"start one: `{command}`")
        return warning("groups", f"{who}: nobody runs it; nothing waits", f"`{command}`, before something does")
    alone = [place for place in one.behind if name == "router" and one.group.owner(place) is None]
    if one.group.state not in {"stable", "empty"}:
        mend = "wait a moment; if it stays so, processes come and go: look at their logs and exit codes"
        return warning("groups", f"{who}: the group is {one.group.state.replace('_', ' ')}; {waits}", mend)
    if alone:
        return wrong("groups", f"{who}: nobody has {len(alone)} of the partitions", "look at the members' logs")
    if stands:
        mend = (
            "long calls look like this, too: see the workers' logs, `parkway lag --by-partition`, and "
            "`parkway request show ID` of what waits"
        )
        return warning("groups", f"{who}: {waits}, and nothing was completed in {_LOOK_AGAIN:g} s", mend)
    return ok("groups", f"{who}: {members} in {one.group.name}; {waits}")


def _deaths(settings: Settings, admin: AdminClient, action: str, places: list[tuple[str, int]]) -> Iterator[Finding]:
    """Partitions whose owners died one after the other."""
    positions = positions_of(settings, admin, settings.topics.worker_group(action), places)
    deaths = 0
    for one in positions.values():
        try:
            deaths = max(deaths, decode(one.metadata).marks.deaths if one.metadata else 0)
        except MapError:
            continue
    if deaths:
        mend = "look at exit codes and the out-of-memory killer; do not `kill -9` meanwhile (operations.md, Poison)"
        yield warning("groups", f"action {action}: {deaths} owners of a partition died in a row", mend)


def _members(one: Waiting) -> str:
    names = sorted({member.instance for member in one.group.members}) if one.group is not None else []
    return ", ".join(names)


def _age(one: Waiting) -> float:
    oldest = one.oldest_of()
    return max(0.0, time.time() - oldest / 1000) if oldest is not None else 0.0
