"""The two streams of events that the benchmarks route, and the triggers that match them.

`orders`: events of 650 bytes. `github`: webhook payloads as GitHub sends them (the example's data), 10 KB on average.
With 10, 100 and 10,000 triggers each event goes to 1 to 3 of the ten actions; the triggers beyond 100 ask for one
customer or one repository each and fire never. `competitors/conditions.py` is the same 100 written by hand.
"""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from competitors import conditions

from parkway.router.table import TriggerTable
from parkway.schemas.plan import ActionPlan, Plan

ACTIONS = tuple(f"a{number}" for number in range(10))
_WEBHOOKS = Path(__file__).parents[2] / "examples" / "github_triage" / "github-webhooks.jsonl"
_SEED = 7


@dataclass(frozen=True)
class Workload:
    """`bodies` are events in JSON; a run repeats them. `triggers(n)`: (action, trigger) pairs."""

    name: str
    event_type: str
    bodies: tuple[bytes, ...]
    triggers: Callable[[int], list[tuple[str, str]]]
    by_hand: Callable[[Mapping[str, Any]], Sequence[str]]

    def plan(self, triggers: int) -> Plan:
        chosen = self.triggers(triggers)
        actions = tuple(
            ActionPlan(name=action, triggers=tuple(text for name, text in chosen if name == action))
            for action in ACTIONS
        )
        return Plan(agent="benchmark", actions=actions, accepts=(self.event_type,)).with_build()

    def records(self, events: int) -> Iterator[bytes]:
        for number in range(events):
            yield self.bodies[number % len(self.bodies)]

    def matches(self, events: int, triggers: int) -> int:
        """How many records the first `events` events cause."""
        match = self.by_hand if triggers >= 100 else _table(self.triggers(triggers)).match
        each = [len(match(orjson.loads(body))) for body in self.bodies]
        rounds, rest = divmod(events, len(each))
        return rounds * sum(each) + sum(each[:rest])

    def check(self) -> None:
        """The compiled triggers and the code by hand must do the same job, or comparing them says nothing."""
        tables = [_table(self.triggers(count)) for count in (100, 10_000)]
        for body in self.bodies:
            event = orjson.loads(body)
            found = sorted(self.by_hand(event))
            assert 1 <= len(found) <= 3, (found, body)
            assert all(sorted(table.match(event)) == found for table in tables), (found, body)


def _table(triggers: list[tuple[str, str]]) -> TriggerTable:
    return TriggerTable([(action, [text for name, text in triggers if name == action]) for action in ACTIONS])


def orders() -> Workload:
    """Orders of 20 kinds, 5 regions, amounts from 0 to 99 and 10,000 customers."""
    random.seed(_SEED)
    bodies = []
    for number in range(5_000):
        attributes = {
            "kind": f"k{random.randrange(20)}",
            "region": f"r{random.randrange(5)}",
            "amount": random.randrange(100),
            "customer": f"c-{random.randrange(10_000)}",
        }
        body = {"id": f"order-{number}", "type": "order", "attributes": attributes}
        attributes["note"] = "x" * (640 - len(json.dumps(body)))
        bodies.append(orjson.dumps(body))
    return Workload("orders", "order", tuple(bodies), _order_triggers, conditions.match_orders)


def _order_triggers(count: int) -> list[tuple[str, str]]:
    found = [(f"a{i}", f"type == 'order' && kind in ['k{2 * i}', 'k{2 * i + 1}']") for i in range(10)]
    found += [
        (
            f"a{(7 * j + j // 20 + 1) % 10}",
            f"type == 'order' && kind == 'k{j % 20}' && region == 'r{j // 20}' && amount > 50",
        )
        for j in range(80)
    ]
    found += [(f"a{i}", f"type == 'order' && region == 'r{i % 5}' && amount == {90 + i}") for i in range(10)]
    found += [
        (f"a{n % 10}", f"type == 'order' && customer == 'c-{n}' && amount > 1000") for n in range(max(0, count - 100))
    ]
    return found[:count]


def github() -> Workload:
    """GitHub's webhooks; the attributes are `event` (the value of its header) and `payload`."""
    rows = [json.loads(line) for line in _WEBHOOKS.read_text(encoding="utf-8").splitlines()]
    bodies = tuple(
        orjson.dumps({"id": f"delivery-{number}", "type": "github", "attributes": row})
        for number, row in enumerate(rows)
    )
    return Workload("github", "github", bodies, lambda count: _github_triggers(rows, count), conditions.match_github)


def _github_triggers(rows: list[dict[str, Any]], count: int) -> list[tuple[str, str]]:
    names = sorted({row["event"] for row in rows})
    found = [(f"a{i}", f"type == 'github' && event in {json.dumps(names[i::10])}") for i in range(10)]
    pairs = Counter((row["event"], row["payload"]["action"]) for row in rows if "action" in row["payload"])
    common = [pair for pair, _ in pairs.most_common(80)]
    found += [
        (f"a{(7 * j + 1) % 10}", f"type == 'github' && event == '{event}' && payload.action == '{action}'")
        for j, (event, action) in enumerate(common)
    ]
    found += [
        (
            f"a{(i + 5) % 10}",
            f"type == 'github' && event == '{event}' && has(payload.repository) && payload.repository.private",
        )
        for i, (event, _) in enumerate(Counter(row["event"] for row in rows).most_common(10))
    ]
    for number in range(max(0, count - 100)):
        event, action = common[number % len(common)]
        repository = f"payload.repository.full_name == 'acme/service-{number}'"
        text = f"type == 'github' && event == '{event}' && payload.action == '{action}' && {repository}"
        found.append((f"a{number % 10}", text))
    return found[:count]


WORKLOADS = {"orders": orders, "github": github}
