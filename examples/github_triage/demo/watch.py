"""What happens in the topics while it happens, as far as it is committed."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Message
from examples.github_triage.demo.reading import body_of, open_reader, place_of, seconds_of

from parkway.schemas.event_types import EventType
from parkway.schemas.topics import Topics

CHAT = "chat"


@dataclass(frozen=True, slots=True)
class Parked:
    """A chat that waits, or whose next model call is under way; `waits_for` is the id of its tool request."""

    request_id: str
    partition: int
    waits_for: str


class Watch:
    """Follows parked chats and their continuations. Not safe for several threads."""

    def __init__(self, bootstrap_servers: str, topics: Topics, partitions: int) -> None:
        self.parked: dict[str, Parked] = {}  # by request id
        self.continued_at: dict[str, float] = {}  # tool request id -> when its response came to `resume.chat`
        self.chat_wrote_at: dict[int, float] = {}  # partition -> when its chat worker last wrote
        self.asked = self.answered = self.outputs = 0
        self._topics = topics
        followed = (topics.parked, topics.events, topics.outputs, topics.resume(CHAT))
        places = [(topic, number) for topic in followed for number in range(partitions)]
        self._consumer = open_reader(bootstrap_servers, places)

    def take(self, seconds: float) -> int:
        """Wait up to `seconds` for records and note what they say. Gives how many there were."""
        first = self._consumer.consume(1, seconds)
        messages = [one for one in (*first, *(self._consumer.consume(500, 0) if first else ())) if one.error() is None]
        for message in messages:
            self._note(message)
        return len(messages)

    def catch_up(self, seconds: float) -> None:
        """Take what there is, until nothing has come for `seconds`."""
        quiet_since = time.monotonic()
        while time.monotonic() - quiet_since < seconds:
            if self.take(seconds / 4):
                quiet_since = time.monotonic()

    def parked_in(self, partitions: Iterable[int]) -> list[Parked]:
        wanted = set(partitions)
        return [one for one in self.parked.values() if one.partition in wanted]

    def close(self) -> None:
        self._consumer.close()

    def _note(self, message: Message) -> None:
        topic, partition = place_of(message)
        if topic == self._topics.parked:
            self._note_parked(message, partition)
            self.chat_wrote_at[partition] = seconds_of(message)
        elif topic == self._topics.resume(CHAT):
            self.continued_at[body_of(message)["attributes"]["request_id"]] = seconds_of(message)
        elif topic == self._topics.outputs:
            self.outputs += 1
        else:
            self._note_event(body_of(message), partition, seconds_of(message))

    def _note_parked(self, message: Message, partition: int) -> None:
        key, value = message.key(), message.value()
        assert isinstance(key, bytes)
        request_id = key.decode().rpartition("/")[0]
        if value is None:
            self.parked.pop(request_id, None)
        else:
            self.parked[request_id] = Parked(request_id, partition, body_of(message)["waits_for"])

    def _note_event(self, event: dict[str, Any], partition: int, written_at: float) -> None:
        if event.get("upstreamActionName") == CHAT:
            self.chat_wrote_at[partition] = written_at
        self.asked += event["type"] == EventType.ChatRequestEvent
        self.answered += event["type"] == EventType.ChatResponseEvent
