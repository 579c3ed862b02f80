"""A run as a tree: under an event the actions that handled it, under an action what it did and sent.

Continuations stand under the action that had parked the request, so the rounds of a chat follow each other.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from parkway.cli.request_state import action_of
from parkway.cli.sightings import RESPONSES, Sighting
from parkway.cli.trace_read import Run
from parkway.cli.trace_words import dead_words, journal_words, words
from parkway.schemas import headers
from parkway.schemas.event_types import REQUEST_TYPES, EventType
from parkway.schemas.journal import JournalRecord
from parkway.schemas.topics import Topics

Kind = Literal["event", "action", "call", "output", "dead"]


@dataclass(slots=True)
class Node:
    """`at`: when it was written, or began, in milliseconds since 1970 (UTC); `took` in milliseconds."""

    kind: Kind
    name: str
    text: str
    at: int
    place: str | None = None
    bytes: int | None = None
    took: int | None = None
    tokens: Mapping[str, int] | None = None
    state: str | None = None  # of an action: done, taken, waiting
    children: list["Node"] = field(default_factory=list)

    def walk(self, depth: int = 0) -> Iterator[tuple[int, "Node"]]:
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)


@dataclass(slots=True)
class Trace:
    """`over`: nothing of it runs, waits or is parked, as far as can be seen."""

    root: Node
    over: bool
    model_calls: int
    tool_calls: int
    tokens: dict[str, int]
    took: int  # from the root to the newest record, in milliseconds


def build(run: Run, topics: Topics, standing: Callable[[Sighting], str], *, content: bool) -> Trace:
    """`standing`: done, taken or waiting, of a record for the group that reads it."""
    return _Builder(run, topics, standing, content=content).trace()


class _Builder:
    def __init__(self, run: Run, topics: Topics, standing: Callable[[Sighting], str], *, content: bool) -> None:
        self._run = run
        self._topics = topics
        self._standing = standing
        self._content = content
        self._events: dict[str, Node] = {}
        self._handled: dict[tuple[str, str], Node] = {}  # event or continuation, and action
        self._tool_calls: dict[str, Node] = {}  # id of a call -> the action that runs it
        self._open: set[str] = set()  # requests without an end
        self._parents: dict[str, str] = {}  # request -> the one that it was sent on behalf of
        self._busy = False
        self._models = 0
        root = run.root
        self._root = Node("event", "?", f"{root.id}  (its record is gone: {root.place})", root.written, root.place)

    def trace(self) -> Trace:
        records = sorted(self._run.records, key=lambda one: (one.written, one.topic, one.offset))
        for one in records:
            self._make(one)
        for one in records:
            self._alias(one)
        for one in records:
            self._place(one)
        for entry in self._run.journal:
            self._journal(entry)
        for _, node in self._root.walk():
            node.children.sort(key=lambda child: child.at)
        calls = [node for _, node in self._root.walk() if node.kind == "call"]
        tokens: dict[str, int] = {}
        for call in calls:
            for name, count in (call.tokens or {}).items():
                tokens[name] = tokens.get(name, 0) + count
        # A tool request whose chat has ended was cancelled with it, and has no end of its own.
        pending = {one for one in self._open if (above := self._parents.get(one)) is None or above in self._open}
        last = max((node.at + (node.took or 0) for _, node in self._root.walk()), default=self._root.at)
        over = not self._busy and not pending and bool(records)
        return Trace(self._root, over, self._models, len(self._tool_calls), tokens, last - self._root.at)

    def _make(self, one: Sighting) -> None:
        """A node for each event, and for each action that has an event."""
        topics = self._topics
        action = action_of(topics, one.topic)
        if one.topic == topics.dlq or self._continues(one):
            return
        if action is not None:
            state = self._standing(one)
            self._busy |= state != "done"
            node = Node("action", action, action, one.written, one.place, state=state)
            self._handled.setdefault((one.event_id, action), node)
            calls = one.attributes.get("tool_calls") if one.type == EventType.ToolRequestEvent else None
            for call in calls if isinstance(calls, list) else ():
                if isinstance(call, dict):
                    self._tool_calls[str(call.get("id"))] = node
            if one.type in REQUEST_TYPES:
                self._open.add(one.event_id)
            if one.parent is not None:
                self._parents[one.event_id] = one.parent[0]
            return
        if one.topic in (topics.requests, topics.events):
            self._busy |= self._standing(one) != "done"
        kind: Kind = "output" if one.type == EventType.OutputEvent else "event"
        text = words(one, content=self._content)
        node = Node(kind, one.type, text, one.written, one.place, one.bytes)
        if one.place == self._run.root.place:
            node.text = f"{self._run.root.id}  {text}"
            self._root = node
            self._events[self._run.root.id] = node
        else:
            self._events.setdefault(one.event_id, node)

    def _alias(self, one: Sighting) -> None:
        """What a continuation does belongs to the action that had parked its request."""
        if not self._continues(one):
            return
        action = action_of(self._topics, one.topic) or ""
        state = self._standing(one)
        self._busy |= state != "done"
        asked = one.parent[0] if one.parent is not None and one.type in RESPONSES else one.request_id
        owner = self._handled.get((asked or "", action))
        if owner is not None:
            self._handled[one.event_id, action] = owner
            if state != "done":
                owner.state = state

    def _place(self, one: Sighting) -> None:
        topics = self._topics
        if one.topic == topics.dlq:
            self._dead(one)
            return
        action = action_of(topics, one.topic)
        if self._continues(one):
            return
        if action is not None:
            node = self._handled[one.event_id, action]
            self._under(self._events.get(one.event_id, self._root), node)
            return
        if one.type in RESPONSES and one.request_id is not None:
            self._open.discard(one.request_id)
        node = self._events[one.event_id] if one.place != self._root.place else self._root
        if node is self._root:
            return
        sender = one.sender or ""
        above = self._handled.get((one.upstream or "", sender)) or self._events.get(one.upstream or "")
        # What a person's answer ended: that answer came from outside and has a run of its own.
        above = above or self._handled.get((one.request_id or "", sender))
        self._under(above or self._root, node)

    def _continues(self, one: Sighting) -> bool:
        """Of a request that is parked. (Requests come by a resume topic, too: those of tools that may be approved.)"""
        return one.topic.startswith(self._topics.resume("")) and one.type not in REQUEST_TYPES

    def _dead(self, one: Sighting) -> None:
        self._open.discard(one.event_id)
        text = dead_words(one)
        node = Node("dead", one.text(headers.ERROR_TYPE), text, one.written, one.place, one.bytes)
        action = action_of(self._topics, one.text(headers.ORIGIN).rsplit("/", 2)[0])
        above = self._handled.get((one.event_id, action or "")) or self._events.get(one.event_id)
        self._under(above or self._root, node)

    def _journal(self, entry: JournalRecord) -> None:
        above = self._tool_calls.get(entry.call_id or "") or self._handled.get((entry.request_id, entry.action))
        if above is None:
            return  # of another run
        self._models += entry.kind == "model_call"
        usage = {name: count for name, count in (entry.usage or {}).items() if isinstance(count, int)}
        node = Node(
            "call", entry.name, journal_words(entry, content=self._content), entry.started_at, took=_took(entry)
        )
        node.tokens = usage or None
        self._under(above, node)

    @staticmethod
    def _under(above: Node, node: Node) -> None:
        if node is not above and not any(child is node for child in above.children):
            above.children.append(node)


def _took(entry: JournalRecord) -> int:
    return max(0, entry.ended_at - entry.started_at)


def as_json(trace: Trace) -> dict[str, Any]:
    """The trace as JSON, its nodes under each other."""
    return {
        "over": trace.over,
        "took": trace.took,
        "model_calls": trace.model_calls,
        "tool_calls": trace.tool_calls,
        "tokens": trace.tokens,
        "root": _node(trace.root),
    }


def _node(node: Node) -> dict[str, Any]:
    given = {name: getattr(node, name) for name in ("kind", "name", "text", "at", "place", "bytes", "took", "state")}
    tokens = {"tokens": dict(node.tokens)} if node.tokens else {}
    children = {"children": [_node(child) for child in node.children]}
    return {name: value for name, value in given.items() if value is not None} | tokens | children
