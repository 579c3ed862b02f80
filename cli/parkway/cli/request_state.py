"""Where a request is, as the records and the groups' offsets tell it, and what to do next."""

import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from confluent_kafka.admin import AdminClient

from parkway.cli.durations import duration
from parkway.cli.groups import Group, groups_of
from parkway.cli.parked_topic import ParkedMessage
from parkway.cli.positions import Position, Standing, positions_of
from parkway.cli.sightings import Found, Sighting
from parkway.cli.waiting_calls import calls_left
from parkway.runtime.log_reader import Place
from parkway.runtime.settings import Settings
from parkway.schemas import headers
from parkway.schemas.event_types import REQUEST_TYPES
from parkway.schemas.parked import ParkedError, ParkedKind, ParkedRecord
from parkway.schemas.topics import Topics


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a request's story. `when` in milliseconds since 1970 (UTC); `place`: topic/partition/offset."""

    state: str  # one word of `STATES`
    text: str
    when: int | None = None
    place: str | None = None
    next: str | None = None  # what to do


@dataclass(slots=True)
class Story:
    """`state`: the one that counts. `steps`: in the order in which it happens to a request."""

    id: str
    type: str
    state: str
    steps: list[Step] = field(default_factory=list)


# The later one counts: a request that is parked for one action and was handled by another is parked.
STATES = (
    "unmatched",
    "handled",
    "ended",
    "failed",
    "dead",
    "cancelled_early",
    "parked",
    "awaiting_approval",
    "running",
    "queued",
    "waiting_for_router",
)


class Groups:
    """Positions and members of the groups that read our topics, asked once each.

    Positions are asked *before* the records are read: what a completed record has caused is then among those.
    """

    def __init__(self, settings: Settings, admin: AdminClient) -> None:
        self._settings = settings
        self._admin = admin
        self._positions: dict[tuple[str, Place], Position] = {}
        self._groups: dict[str, Group | None] = {}

    def ask(self, topics: Topics, places: Iterable[Place]) -> None:
        """The positions in these partitions. Raises LogReadError."""
        by_group: dict[str, list[Place]] = {}
        for place in places:
            if action_of(topics, place[0]) is not None or place[0] in (topics.requests, topics.events):
                by_group.setdefault(group_of(topics, place[0]), []).append(place)

        def positions(group: str) -> dict[Place, Position]:
            return positions_of(self._settings, self._admin, group, by_group[group])

        with ThreadPoolExecutor(8) as pool:  # each waits for Kafka
            for group, found in zip(by_group, pool.map(positions, by_group), strict=True):
                self._positions |= {(group, place): one for place, one in found.items()}

    def position(self, group: str, place: Place) -> Position:
        """Raises LogReadError."""
        if (group, place) not in self._positions:
            self._positions[group, place] = positions_of(self._settings, self._admin, group, [place])[place]
        return self._positions[group, place]

    def group(self, name: str) -> Group | None:
        """None: it may not be described."""
        if name not in self._groups:
            self._groups[name] = groups_of(self._settings, [name]).get(name)
        return self._groups[name]

    def standing(self, topics: Topics, one: Sighting) -> Standing:
        """Of a record in an action's topic, for its workers; of any other for the routers."""
        return self.position(group_of(topics, one.topic), (one.topic, one.partition)).standing(one.offset)

    def runs_on(self, topics: Topics, one: Sighting) -> str | None:
        """The instance that has its partition; None: nobody, or it may not be asked."""
        group = self.group(group_of(topics, one.topic))
        member = group.owner((one.topic, one.partition)) if group is not None else None
        # Continuations are read by a second consumer, which is no member of the group.
        if member is None and group is not None and one.topic.startswith(topics.resume("")):
            action = action_of(topics, one.topic)
            member = group.owner((topics.action(action or ""), one.partition))
        return member.instance if member is not None else None


def action_of(topics: Topics, topic: str) -> str | None:
    for prefix in (topics.action(""), topics.resume("")):
        if topic.startswith(prefix):
            return topic.removeprefix(prefix)
    return None


def group_of(topics: Topics, topic: str) -> str:
    """The group that reads a topic of ours (or a source)."""
    action = action_of(topics, topic)
    return topics.router_group if action is None else topics.worker_group(action)


def story_of(wanted: str, found: Found, groups: Groups, topics: Topics, put_back: Iterable[str]) -> Story | None:
    """What is known of an id; None when it was seen nowhere. `put_back`: places of dead letters that were replayed."""
    replayed = set(put_back)
    steps = [
        *_came(found, groups, topics),
        *_handled(found, groups, topics),
        *_parked(wanted, found, groups, topics),
        *_dead(found, replayed),
        *_ended(found),
    ]
    if not steps:
        return None
    seen = [*found.requests, *found.handled, *found.dead]
    event_type = next((one.type for one in seen if one.type), "?")
    return Story(wanted, event_type, _state(steps, found, event_type), steps)


def _state(steps: Sequence[Step], found: Found, event_type: str) -> str:
    states = {step.state for step in steps}
    newest = max(found.responses, key=lambda one: one.written, default=None)
    began = max((one.written for one in found.requests or found.handled), default=0)
    if event_type in REQUEST_TYPES and newest is not None and newest.written >= began and "parked" not in states:
        return next(step.state for step in reversed(steps) if step.place == newest.place)
    return max(states, key=lambda state: STATES.index(state) if state in STATES else -1)


def _came(found: Found, groups: Groups, topics: Topics) -> Iterator[Step]:
    for one in found.requests:
        if one.topic == topics.outputs:
            yield Step("ended", f"output of {one.sender}", one.written, one.place)
            continue
        what = f"{one.type} sent by {one.sender}" if one.sender else f"{one.type} came in"
        if groups.standing(topics, one) is not Standing.DONE:
            position = groups.position(topics.router_group, (one.topic, one.partition))
            who = groups.runs_on(topics, one)
            hint = (
                f"router {who} has its partition: look at its log, and at `parkway lag`"
                if who
                else "no router has its partition: start one (`parkway router`)"
            )
            before = f"{max(0, one.offset - position.base):,} offsets before it"
            yield Step("waiting_for_router", f"{what}; waits for a router, {before}", one.written, one.place, hint)
        elif not found.handled and not found.dead and not found.responses:
            hint = "`parkway trigger explain` says why; `parkway plan show` which plan is in force"
            yield Step("unmatched", f"{what}; routed, and no trigger fired", one.written, one.place, hint)
        else:
            yield Step("handled", what, one.written, one.place)


def _handled(found: Found, groups: Groups, topics: Topics) -> Iterator[Step]:
    for one in found.handled:
        yield _at_work(one, groups, topics, action_of(topics, one.topic) or "?")


def _at_work(one: Sighting, groups: Groups, topics: Topics, action: str) -> Step:
    standing = groups.standing(topics, one)
    if standing is Standing.DONE:
        return Step("handled", f"handled by {action}", one.written, one.place)
    who = groups.runs_on(topics, one)
    position = groups.position(group_of(topics, one.topic), (one.topic, one.partition))
    if who is None:
        hint = f"nobody runs action {action} there: `parkway worker MODULE:AGENT --action {action}`"
    elif standing is Standing.TAKEN:
        hint = f"look at the log and the metrics of {who}"
    else:
        how_far = f"`parkway lag --action {action}` says how far it is"
        hint = f"{who} has its partition ({how_far}); a dead process keeps it for a session timeout"
    if standing is Standing.TAKEN and who is not None:
        return Step("running", f"{action}: running (or next to) on {who}", one.written, one.place, hint)
    before = len([offset for offset in position.open if offset < one.offset])
    before += max(0, one.offset - max(position.reach, position.base)) if standing is Standing.WAITING else 0
    text = f"{action}: queued, {before:,} before it" + (f", for {who}" if who else "")
    return Step("queued", text, one.written, one.place, hint)


def _parked(wanted: str, found: Found, groups: Groups, topics: Topics) -> Iterator[Step]:
    for message in found.parked.values():
        if message.key.subject != wanted:
            continue
        place = f"{topics.parked}/{message.partition}/{message.offset}"
        if message.key.kind is ParkedKind.CANCELLED_ID:
            text = f"a cancellation is remembered for {message.key.action}: it ends when it comes"
            yield Step("cancelled_early", text, message.written, place)
        elif message.key.kind is ParkedKind.STEP:
            continue
        else:
            yield from _waits(message, place, found, groups, topics)


def _waits(message: ParkedMessage, place: str, found: Found, groups: Groups, topics: Topics) -> Iterator[Step]:
    assert message.value is not None
    try:
        record = ParkedRecord.from_json(message.value)
    except ParkedError as error:
        yield Step(
            "parked", f"parked, and unreadable: {error}", message.written, place, "its worker sends it to the DLQ"
        )
        return
    left = duration(record.deadline / 1000 - time.time())
    calls = len(record.pending_calls)
    text = (
        f"parked by {record.action} in round {record.round}, for {calls} call{'s' if calls != 1 else ''}; {left} left"
    )
    asked = _approvals(found, record.waits_for)
    if asked:
        hint = f"`parkway approvals list`; approve or deny {', '.join(asked)}"
        yield Step("awaiting_approval", f"{text}; a person must decide", message.written, place, hint)
        return
    # One tool call may have waited before: the newest request on its behalf is the one.
    child = next((one for one in reversed(found.children) if one.event_id == record.waits_for), None)
    answer = next((one for one in found.answers if one.request_id == record.waits_for), None)
    hint = f"`parkway requests cancel {record.request_id}` ends it; `parkway parked show {record.request_id}` says more"
    yield Step("parked", text, message.written, place, hint)
    if answer is not None:
        step = _at_work(answer, groups, topics, record.action)
        yield Step("parked", f"  the answer is there; {step.text}", answer.written, answer.place, step.next)
    elif child is not None:
        step = _at_work(child, groups, topics, action_of(topics, child.topic) or "?")
        yield Step("parked", f"  waits for {_calls(child)}; {step.text}", child.written, child.place, step.next)


def _calls(child: Sighting) -> str:
    calls = child.attributes.get("tool_calls")
    functions = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    names = [str(one.get("name")) for one in functions if isinstance(one, dict)]
    return f"tool {', '.join(names)}" if names else child.type


def _approvals(found: Found, waits_for: str) -> list[str]:
    """Ids of the calls of a tool request that wait for a person."""
    for message in found.parked.values():
        if message.key.subject == waits_for:
            return sorted(calls_left(message.value))
    return []


def _dead(found: Found, replayed: set[str]) -> Iterator[Step]:
    for one in found.dead:
        if one.place in replayed:
            yield Step("handled", "in the DLQ, and put back", one.written, one.place)
            continue
        reason = f"{one.text(headers.ERROR_TYPE)}: {one.text(headers.ERROR_MESSAGE)}"
        hint = f"`parkway dlq show {one.place}`; mend it, then `parkway dlq replay {one.place}`"
        yield Step("dead", f"in the DLQ, from {one.text(headers.ORIGIN)}: {reason}", one.written, one.place, hint)


def _ended(found: Found) -> Iterator[Step]:
    for one in found.responses:
        error = one.attributes.get("error")
        if one.attributes.get("success") is False:
            about = f"{error.get('type')}: {error.get('message')}" if isinstance(error, dict) else str(error)
            meaning = "docs/guarantees.md says what each error type means"
            yield Step("failed", f"ended: failed, {about}", one.written, one.place, meaning)
        else:
            yield Step("ended", f"ended: {one.type}", one.written, one.place)
    for one in found.sent:
        on = one.type in REQUEST_TYPES
        name = f"{one.type} {one.event_id}" if on else one.type
        then = f"`parkway trace {one.upstream}` shows what came of what it sent" if on else None
        yield Step("handled", f"{one.sender} sent {name}", one.written, one.place, then)
