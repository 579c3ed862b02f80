"""Events for routers, and a check of what became of them: each once, where plain Python says, in order per key.

The agent is `agents:Routes`; nothing but routers has to run.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from installation import Installation, event

KEYS = 20

# What the triggers of `agents:Routes` say, in plain Python.
ACTIONS: dict[str, Callable[[int], bool]] = {
    "all": lambda _: True,
    "even": lambda number: number % 2 == 0,
    "third": lambda number: number % 3 == 0,
}


@dataclass
class Routed:
    """Emits numbered events, in turn from outside and from inside."""

    here: Installation
    numbers: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))  # by key, in order
    count: int = 0

    def emit(self, events: int) -> None:
        for _ in range(events):
            number, self.count = self.count, self.count + 1
            inside = number % 2 == number // 2 % 2
            key = f"{'in' if inside else 'out'}-{number % KEYS}"
            topic = self.here.topics.events if inside else self.here.topics.requests
            headers = {"parkway-type": "number", "parkway-hops": "1"} if inside else {}
            self.here.emit(event("number", number=number), key=key, topic=topic, headers=headers)
            self.numbers[key].append(number)
        self.here.flush()

    def wait_no_lag(self, seconds: float = 60.0) -> None:
        for topic in (self.here.topics.requests, self.here.topics.events):
            self.here.wait_no_lag(self.here.topics.router_group, topic, seconds)

    def routed(self) -> int:
        """How many are published already."""
        return len(self.here.read(self.here.topics.action("all")))

    def check(self, seconds: float = 60.0) -> None:
        """Wait until offsets reach the end; then every action has what it should have, once, in order per key."""
        try:
            self.wait_no_lag(seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.here.logs()}") from None
        for action, wanted in ACTIONS.items():
            found: dict[str, list[int]] = defaultdict(list)
            for record in self.here.read(self.here.topics.action(action)):
                found[(record.key or b"").decode()].append(record.json["attributes"]["number"])
            expected = {key: [one for one in numbers if wanted(one)] for key, numbers in self.numbers.items()}
            assert dict(found) == {key: numbers for key, numbers in expected.items() if numbers}, action
        assert self.here.read(self.here.topics.dlq) == []
