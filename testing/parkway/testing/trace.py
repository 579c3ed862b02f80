"""What led to what: the records of a test's log as a tree.

Under an event stand the actions that handled it, in the plan's words; under an action what it sent, put out, and left
in the DLQ. So a request is followed by its routing, its rounds, its tools, and its response:

    ticket t-1 [c1]
      triage
        _chat_request_event assistant: "Where is my order?"
          chat
            _tool_request_event lookup({"customer":"c1"})
              tool
                _tool_response_event lookup -> {"plan":"gold"}
                  chat (resumed)
                    _chat_response_event "It is on its way."
                      answer
                        output {"text":"It is on its way."}
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from parkway.schemas import headers, jsonio
from parkway.schemas.event_types import EventType
from parkway.schemas.topics import Topics
from parkway.testing.log_record import LogRecord
from parkway.testing.views import Views, key_text

Kind = Literal["event", "action", "output", "dead letter"]

_WIDTH: Final = 100


@dataclass(slots=True)
class Node:
    """`name` is the event's type, the action's name, `output`, or the reason in the DLQ.

    `value` is the event's JSON object, or what was put out. `text` is the line without its children.
    """

    kind: Kind
    name: str
    text: str
    value: Any = None
    children: list["Node"] = field(default_factory=list)

    def walk(self) -> Iterator["Node"]:
        yield self
        for child in self.children:
            yield from child.walk()

    def lines(self, depth: int = 0) -> Iterator[str]:
        yield "  " * depth + self.text
        for child in self.children:
            yield from child.lines(depth + 1)


@dataclass(frozen=True, slots=True)
class Trace:
    """`roots`: what came from outside."""

    roots: list[Node]

    def __str__(self) -> str:
        return "\n".join(self.lines)

    @property
    def lines(self) -> list[str]:
        return [line for root in self.roots for line in root.lines()]

    def all(self, name: str) -> list[Node]:
        """Every node of that name: an event type, an action, `output`, a reason."""
        return [node for root in self.roots for node in root.walk() if node.name == name]

    @property
    def path(self) -> list[str]:
        """The names of all nodes, a parent before its children."""
        return [node.name for root in self.roots for node in root.walk()]


def trace_of(views: Views, topics: Topics) -> Trace:
    return _Builder(views, topics).build()


class _Builder:
    def __init__(self, views: Views, topics: Topics) -> None:
        self._views = views
        self._topics = topics
        self._sent: dict[tuple[str, str], list[Node]] = defaultdict(list)  # event id, action -> what it sent
        self._handled: dict[str, list[tuple[str, bool]]] = defaultdict(list)  # event id -> action, resumed
        self._roots: list[tuple[str, Node]] = []
        self._events: list[tuple[str, Node]] = []
        self._ids: dict[str, str] = {}  # topic:partition:offset of what came from outside -> its event's id
        self._ours = {topics.requests, topics.events, topics.outputs}

    def build(self) -> Trace:
        topics = self._topics
        quiet = {topics.parked, topics.state, topics.journal, topics.plans}
        for record in self._views.records:
            given = record.headers
            if headers.ROOT in given:
                self._ids[given[headers.ROOT].decode().rpartition(":")[0]] = given[headers.ROOT_ID].decode()
        for record in self._views.records:
            body = self._views.body(record)
            if record.topic == topics.dlq:
                self._dead(record, body)
            elif record.topic.startswith((topics.action(""), topics.resume(""))):
                self._routed(record, str((body or {}).get("id")))
            elif record.topic in {topics.events, topics.outputs} or headers.ROOT in record.headers:
                self._event(record, body or {})
            elif record.topic not in quiet:
                self._outside(record, body or {})
        for event_id, node in self._events:
            self._attach(event_id, node)
        return Trace([node for _, node in self._roots])

    def _attach(self, event_id: str, node: Node) -> None:
        for action, resumed in self._handled.get(event_id, []):
            handled = Node("action", action, f"{action} (resumed)" if resumed else action)
            handled.children = self._sent.pop((event_id, action), [])
            node.children.append(handled)
        node.children += self._sent.pop((event_id, ""), [])

    def _routed(self, record: LogRecord, event_id: str) -> None:
        resumed = record.topic.startswith(self._topics.resume(""))
        name = record.topic.removeprefix(self._topics.resume("") if resumed else self._topics.action(""))
        self._handled[event_id].append((name, resumed))

    def _outside(self, record: LogRecord, body: dict[str, Any]) -> None:
        """What came from outside may be no event of ours: the router has made one of it, and given it an id."""
        place = f"{record.topic}:{record.partition}:{record.offset}"
        event_id = str(body.get("id") or self._ids.get(place, ""))
        if record.topic != self._topics.requests:
            node = Node("event", record.topic, f"{record.topic} [{key_text(record.key)}] {_short(body)}", body)
        elif isinstance(body.get("type"), str):
            node = self._node(record, body, with_id=True)
        elif not event_id:
            return  # it is in the DLQ, which says why
        else:
            node = Node("event", "requests", f"requests [{key_text(record.key)}] {_short(body)}", body)
        self._events.append((event_id, node))
        self._roots.append((event_id, node))

    def _event(self, record: LogRecord, body: dict[str, Any]) -> None:
        upstream, action = body.get("upstreamEventId"), body.get("upstreamActionName")
        node = self._node(record, body, with_id=False)
        self._events.append((str(body.get("id")), node))
        if upstream is not None:
            self._sent[str(upstream), str(action or "")].append(node)
        elif body.get("type") in _FAILURES:
            self._sent[str(body.get("attributes", {}).get("request_id")), ""].append(node)  # the router's refusal
        else:  # a plain value for somebody else's topic
            self._sent[record.headers.get(headers.ROOT_ID, b"").decode(), ""].append(node)

    def _node(self, record: LogRecord, body: dict[str, Any], *, with_id: bool) -> Node:
        if not isinstance(body.get("type"), str) or record.topic not in self._ours:
            return Node("output", record.topic, f"{record.topic} {_short(body)}", body)
        name, attributes = str(body["type"]), body.get("attributes") or {}
        if name == EventType.OutputEvent:
            return Node("output", "output", f"output {_short(attributes.get('output'))}", attributes.get("output"))
        words = [name, str(body.get("id", "")) if with_id else "", f"[{key_text(record.key)}]" if with_id else ""]
        text = " ".join(filter(None, [*words, _told(name, attributes)]))
        return Node("event", name, text, body)

    def _dead(self, record: LogRecord, body: dict[str, Any] | None) -> None:
        given = record.headers
        reason = given.get(headers.ERROR_TYPE, b"").decode()
        message = given.get(headers.ERROR_MESSAGE, b"").decode("utf-8", "replace")
        node = Node("dead letter", reason, f"DLQ {reason}: {_cut(message)}", body)
        origin = given.get(headers.ORIGIN, b"").decode().rsplit("/", 2)[0]
        action = ""
        for prefix in (self._topics.action(""), self._topics.resume("")):
            if origin.startswith(prefix):
                action = origin.removeprefix(prefix)
        event_id = body.get("id") if body is not None else None
        if isinstance(event_id, str):
            self._sent[event_id, action].append(node)
        else:
            self._roots.append(("", node))


_FAILURES: Final = frozenset(
    {EventType.ChatResponseEvent, EventType.ToolResponseEvent, EventType.DecisionResponseEvent}
)


def _told(name: str, attributes: dict[str, Any]) -> str:
    """What an event says, in a few words."""
    try:
        if name == EventType.ChatRequestEvent:
            return f"{attributes['model']}: {_short(attributes['messages'][-1]['content'])}"
        if name == EventType.ChatResponseEvent:
            if attributes.get("success", True):
                return _short(attributes["response"]["content"])
            return f"failed: {attributes['error']['type']}: {_cut(attributes['error']['message'])}"
        if name == EventType.ToolRequestEvent:
            calls = (call["function"] for call in attributes["tool_calls"])
            return ", ".join(f"{call['name']}({_short(call['arguments'])})" for call in calls)
        if name == EventType.ToolResponseEvent:
            success = attributes.get("success")
            success = success if isinstance(success, dict) else {}
            return ", ".join(
                f"{'failed' if success.get(call) is False else 'gave'} {_short(value)}"
                for call, value in attributes["responses"].items()
            )
        if name == EventType.ContextRetrievalRequestEvent:
            return f"{attributes['vector_store']}: {_short(attributes['query'])}"
        if name == EventType.ContextRetrievalResponseEvent:
            return f"{len(attributes['documents'])} documents"
        if name == EventType.DecisionRequestEvent:
            return f"{attributes['model']}: {_short(attributes['state'])}"
        if name == EventType.DecisionResponseEvent:
            return _decided(attributes)
    except (KeyError, TypeError, IndexError, AttributeError):
        pass  # attributes that do not fit: shown as they are
    return _short({key: value for key, value in attributes.items() if key != "user_context"}) if attributes else ""


def _decided(attributes: dict[str, Any]) -> str:
    error = attributes.get("error")
    answers = {name: _answer(answer) for name, answer in (attributes.get("answers") or {}).items()}
    failed = f"failed: {error['type']}: {_cut(error['message'])}" if error else ""
    return " ".join(filter(None, [_short(answers) if answers else "", failed]))


def _answer(answer: Any) -> Any:
    """What was chosen, without its probabilities."""
    for word in ("choice", "answer", "value", "level", "score"):
        if isinstance(answer, dict) and word in answer:
            return answer[word]
    return answer


def _short(value: Any) -> str:
    return _cut(jsonio.dumps(value).decode())


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"
