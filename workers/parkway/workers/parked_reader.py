"""Records of `<ns>.parked`, as a restore reads them: requests, remembered cancellations, steps, and what is broken.

A partition waits for this, so what can wait is left to the store: a request's record is not decoded here, and when
the same request was parked again or has ended behind it, it never is.
"""

from collections.abc import Mapping, Sequence

from confluent_kafka import Message

from parkway.schemas.parked import (
    ParkedCancellation,
    ParkedError,
    ParkedKind,
    ParkedStep,
    parked_key,
    split_parked_key,
    split_step_subject,
)
from parkway.workers.entry import BrokenEntry
from parkway.workers.restored import Restored

Requests = dict[bytes, Message]  # the newest record by request id


class ParkedReader:
    """Puts the records of one action into the partitions that are being restored."""

    def __init__(self, action: str, restored: Mapping[int, Restored]) -> None:
        self._action = action
        self._own = parked_key("", action)  # how keys of its requests end
        self._restored = restored

    def take(self, messages: Sequence[Message]) -> None:
        """Records in the order of their offsets, as far as they are of one partition."""
        requests: dict[int | None, Requests] = {partition: {} for partition in self._restored}
        own, subject = self._own, slice(-len(self._own))
        for message in messages:
            key = message.key()
            if key is not None and key.endswith(own) and key.isascii():
                requests[message.partition()][key[subject]] = message
            else:
                self._other(message)
        for partition, restored in self._restored.items():
            if found := requests[partition]:
                restored.entries.load(found)

    def _other(self, message: Message) -> None:
        """Not a request of this action, or one with a name that takes longer to tell."""
        partition, key, value = message.partition(), message.key() or b"", message.value()
        assert partition is not None
        here = self._restored[partition]
        try:
            subject, action, kind = split_parked_key(key)
            if action != self._action:
                return
            if here.broken:
                here.broken = [broken for broken in here.broken if broken.key != key]
            if kind is ParkedKind.REQUEST:
                here.entries.load({subject.encode(): message})
            elif kind is ParkedKind.STEP:
                place = split_step_subject(subject)
                here.steps.put(*place, None)
                if value is not None:
                    here.steps.put(*place, ParkedStep.from_json(value))
            else:
                here.cancellations.pop(key, None)
                if value is not None:
                    here.cancellations[key] = ParkedCancellation.from_json(value)
        except ParkedError as failure:
            if value is not None:
                here.broken.append(BrokenEntry.of(message, failure))
