"""The recorded webhooks as deliveries, and how one becomes a record of `<ns>.requests`."""

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

WEBHOOKS: Final = Path(__file__).parents[1] / "github-webhooks.jsonl"
_COPIES: Final = "ab"  # GitHub delivers at least once: every payload comes twice, under ids of its own
_SEED: Final = 7


@dataclass(frozen=True, slots=True)
class Delivery:
    """One webhook: `id` tells two copies of a payload apart and becomes the event's id."""

    id: str
    event: str
    payload: dict[str, Any]

    @property
    def key(self) -> str:
        """The record key. All samples are of one repository, which as a key would be a single partition."""
        return self.id

    def to_json(self) -> bytes:
        """The event that a producer outside writes."""
        attributes = {"event": self.event, "payload": self.payload}
        return json.dumps({"id": self.id, "type": "github", "attributes": attributes}).encode()


def load_deliveries() -> list[Delivery]:
    """Every payload twice, in an order that is mixed and always the same."""
    deliveries = []
    with WEBHOOKS.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            webhook = json.loads(line)
            deliveries += [
                Delivery(f"{number:03}-{webhook['event']}-{copy}", webhook["event"], webhook["payload"])
                for copy in _COPIES
            ]
    random.Random(_SEED).shuffle(deliveries)
    return deliveries
