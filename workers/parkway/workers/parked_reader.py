"""Records of `<ns>.parked`, as a restore reads them: entries, remembered cancellations, steps, and what is broken."""

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
from parkway.workers.entry import Entry
from parkway.workers.restored import BrokenEntry, Restored

Changes = dict[str, Entry | None]  # by request id; None: its end


class ParkedReader:
    """Puts the records of one action into the partitions that are being restored."""

    def __init__(self, action: str, restored: Mapping[int, Restored]) -> None:
        self._action = action
        self._own = parked_key("", action)  # how keys of its requests end
        self._restored = restored

    def take(self, messages: Sequence[Message]) -> None:
        """Records in the order of their offsets, as far as they are of one partition."""
        changes: dict[int, Changes] = {partition: {} for partition in self._restored}
        for message in messages:
            self._apply(message, changes)
        for partition, changed in changes.items():
            if changed:
                self._restored[partition].entries.change(changed)

    def _apply(self, message: Message, changes: dict[int, Changes]) -> None:
        partition, offset = message.partition(), message.offset()
        assert partition is not None
        assert offset is not None
        key, value = message.key() or b"", message.value()
        here = self._restored[partition]
        try:
            subject, action, kind = self._split(key)
            if action != self._action:
                return
            if here.broken:
                here.broken = [broken for broken in here.broken if broken.key != key]
            if kind is ParkedKind.REQUEST:
                changed = changes[partition]
                changed[subject] = None  # what was there before a record that is broken is gone too
                if value is not None:
                    changed[subject] = _entry(subject, value)
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
                here.broken.append(BrokenEntry(key, value, offset, str(failure)))

    def _split(self, key: bytes) -> tuple[str, str, ParkedKind]:
        """As `split_parked_key`, which takes longer."""
        if key.endswith(self._own) and len(key) > len(self._own) and key.isascii():
            return key[: -len(self._own)].decode(), self._action, ParkedKind.REQUEST
        return split_parked_key(key)


def _entry(request_id: str, value: bytes) -> Entry:
    entry = Entry.read(value)
    if entry.request_id != request_id:
        raise ParkedError(f"parked record of {entry.request_id!r} under the key of {request_id!r}")
    return entry
