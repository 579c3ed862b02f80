"""The proof: everything is read once more to the high watermark, and counted against what is expected."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from confluent_kafka import Message
from examples.github_triage.demo.cluster import Cluster
from examples.github_triage.demo.expected import Expected, Owed
from examples.github_triage.demo.reading import body_of, header, place_of, read_to

from parkway.schemas import headers
from parkway.schemas.event_types import EventType
from parkway.schemas.plan import Plan
from parkway.schemas.topics import Topics

_READ_SECONDS = 30.0
_SHOWN = 10


@dataclass(slots=True)
class Found:
    """What the topics hold, by the id of the delivery that caused it (header `parkway-root-id`)."""

    routed: Counter[Owed] = field(default_factory=Counter)
    outputs: Counter[Owed] = field(default_factory=Counter)
    chats: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))  # ids of chat requests
    answers: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))  # what responses answer
    failed: list[str] = field(default_factory=list)
    tool_rounds: Counter[str] = field(default_factory=Counter)
    dead: list[str] = field(default_factory=list)
    parked: set[str] = field(default_factory=set)

    def routed_to(self, action: str) -> int:
        return sum(count for (_, name), count in self.routed.items() if name == action)


def read_back(bootstrap_servers: str, cluster: Cluster, topics: Topics, plan: Plan) -> Found:
    """Read every topic that the router or a worker wrote. Raises DemoError."""
    actions = {topics.action(action.name): action.name for action in plan.actions}
    wanted = [topics.events, topics.outputs, topics.parked, topics.dlq, *actions]
    found = Found()
    for message in read_to(bootstrap_servers, cluster.high_watermarks(wanted), seconds=_READ_SECONDS):
        topic, _ = place_of(message)
        root = header(message, headers.ROOT_ID)
        if topic in actions:
            found.routed[root, actions[topic]] += 1
        elif topic == topics.events:
            _count_event(found, root, message)
        elif topic == topics.outputs:
            found.outputs[root, str(body_of(message).get("upstreamActionName"))] += 1
        elif topic == topics.dlq:
            found.dead.append(f"{header(message, headers.ORIGIN)}: {header(message, headers.ERROR_MESSAGE)}")
        else:
            _count_parked(found, message)
    return found


def problems(expected: Expected, found: Found, *, failures_allowed: bool) -> Iterator[str]:
    """Everything that is missing, doubled or wrong, one line each, with the ids."""
    for root in sorted(expected.chats | found.chats.keys() | found.answers.keys()):
        asked, answered = found.chats.get(root, []), found.answers.get(root, [])
        wanted = 1 if root in expected.chats else 0
        if len(asked) != wanted or sorted(asked) != sorted(answered):
            yield f"chat of {root}: {wanted} expected, {len(asked)} asked {asked}, {len(answered)} answered {answered}"
    yield from _differences("output", expected.outputs, found.outputs)
    yield from _differences("routed to", expected.routed + _tool_records(found), found.routed)
    if found.failed and not failures_allowed:
        yield f"failed chats: {_some(found.failed)}"
    if found.dead:
        yield f"in the DLQ: {_some(found.dead)}"
    if found.parked:
        yield f"still parked: {_some(sorted(found.parked))}"


def _tool_records(found: Found) -> Counter[Owed]:
    """Every tool request is routed once; how many there are is the model's choice."""
    return Counter({(root, "tool"): rounds for root, rounds in found.tool_rounds.items()})


def _differences(what: str, expected: Counter[Owed], found: Counter[Owed]) -> Iterator[str]:
    for owed in sorted(expected.keys() | found.keys()):
        if expected[owed] != found[owed]:
            root, action = owed
            yield f"{what} {action} of {root}: {expected[owed]} expected, {found[owed]} found"


def _count_event(found: Found, root: str, message: Message) -> None:
    event = body_of(message)
    if event["type"] == EventType.ChatRequestEvent:
        found.chats[root].append(event["id"])
    elif event["type"] == EventType.ToolRequestEvent:
        found.tool_rounds[root] += 1
    elif event["type"] == EventType.ChatResponseEvent:
        found.answers[root].append(event["attributes"]["request_id"])
        if not event["attributes"].get("success", True):
            found.failed.append(f"{root} ({event['attributes']['error']})")


def _count_parked(found: Found, message: Message) -> None:
    key = message.key()
    assert isinstance(key, bytes)
    if message.value() is None:
        found.parked.discard(key.decode())
    else:
        found.parked.add(key.decode())


def _some(texts: Iterable[str]) -> str:
    texts = list(texts)
    rest = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return ", ".join(texts[:_SHOWN]) + rest
