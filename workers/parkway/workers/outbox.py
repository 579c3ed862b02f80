"""From effects to records: topics, headers, lineage. One place decides where what an action sends goes."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from parkway.agents.sink import Payload
from parkway.runtime import metrics
from parkway.runtime.codec import EventCodec
from parkway.runtime.dlq import dead_letter
from parkway.runtime.logs import get_logger
from parkway.runtime.records import ANY_PARTITION, Incoming, Record
from parkway.schemas import headers
from parkway.schemas.events import ApprovalRequestEvent, Event
from parkway.schemas.headers import Headers
from parkway.schemas.journal import JournalRecord
from parkway.schemas.parked import Origin as ParkedOrigin
from parkway.schemas.parked import ParkedRecord
from parkway.schemas.state import state_key
from parkway.schemas.topics import Topics


@dataclass(slots=True)
class Cause:
    """In whose name records are written: the request (or event) that started this, and what travels with it.

    Never changed; frozen, it would take four times as long to make.
    """

    key: bytes | None
    partition: int
    carried: Mapping[str, str]
    hops: int
    external: bool
    reply_to: str | None
    event_id: str  # of what is handled: of a continuation, the continuation's
    request_id: str  # of what it is handled for

    @classmethod
    def of_record(cls, record: Incoming, event: Mapping[str, Any]) -> "Cause":
        """New work: everything stands in its headers."""
        given = record.headers_by_name()
        event_id = str(event.get("id", ""))
        return cls(
            key=record.key,
            partition=record.partition,
            carried={
                name: value.decode("utf-8", "replace")
                for name, value in given.items()
                if name in headers.COPIED_ON_EVERY_HOP
            },
            hops=headers.number(given.get(headers.HOPS), 0),
            external=headers.EXTERNAL in given,
            reply_to=given[headers.REPLY_TO].decode("utf-8", "replace") if headers.REPLY_TO in given else None,
            event_id=event_id,
            request_id=event_id,
        )

    @classmethod
    def of_parked(cls, parked: ParkedRecord, partition: int, event: Mapping[str, Any]) -> "Cause":
        """A continuation, or a sweep: everything stands in the parked record."""
        return cls(
            key=base64.b64decode(parked.record_key) if parked.record_key is not None else None,
            partition=partition,
            carried=parked.origin.headers,
            hops=parked.origin.hops,
            external=parked.origin.external,
            reply_to=parked.origin.reply_to,
            event_id=str(event.get("id", "")),
            request_id=parked.request_id,
        )

    def in_span(self, traceparent: str) -> "Cause":
        """The same, with the span that it is done in."""
        return replace(self, carried={**self.carried, headers.TRACEPARENT: traceparent})

    def origin(self, record: Incoming) -> ParkedOrigin:
        """What a parked record keeps of this."""
        return ParkedOrigin(
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            headers=dict(self.carried),
            external=self.external,
            reply_to=self.reply_to,
            hops=self.hops,
        )


class Outbox:
    """Writes events, outputs, responses and dead letters of one action."""

    def __init__(self, topics: Topics, action: str, codec: EventCodec, *, route_external_responses: bool) -> None:
        self._topics = topics
        self._codec = codec
        self._action = action
        self._log = get_logger("worker").bind(action=action)
        self._route_external_responses = route_external_responses

    def event(self, cause: Cause, event: Event, deadline: int | None = None, parent: bytes | None = None) -> Record:
        """A record for `<ns>.events`; `deadline` (ms since 1970) bounds what is done in a request's name.

        `parent` is the parked key of the request that waits for it. Whatever is caused by this record carries it
        on, down to a request that is itself parked: so requests made for a parked one never wait behind new work.
        """
        out = self._headers(cause, event.type)
        if parent is not None:
            out = [(name, value) for name, value in out if name != headers.PARENT]
            out.append((headers.PARENT, parent))
        if deadline is not None:
            out.append((headers.DEADLINE, str(deadline)))
        return self._record(self._topics.events, cause, event, out)

    def output(self, cause: Cause, event: Event) -> Record:
        return self._record(self._topics.outputs, cause, event, self._headers(cause, event.type))

    def approval_request(self, cause: Cause, event: ApprovalRequestEvent, deadline: int) -> list[Record]:
        """One event twice: for people, in `outputs`, and for the agent's own actions. It says until when it counts."""
        out: Headers = [*self._headers(cause, event.type), (headers.DEADLINE, str(deadline))]
        return [self._record(topic, cause, event, out) for topic in (self._topics.outputs, self._topics.events)]

    def response(self, cause: Cause, event: Event) -> Record:
        """The terminal response: to `outputs` (or the reply topic) for a request from outside, else to `events`.

        In `events` it would fire the agent's own response actions with a stranger's `user_context`.
        """
        topic = self._topics.events
        if cause.external and not self._route_external_responses:
            topic = cause.reply_to or self._topics.outputs
        return self._record(topic, cause, event, self._headers(cause, event.type))

    def dead_letter(
        self, record: Incoming, reason: str, message: str, attempts: int, traceback: str | None = None
    ) -> Record:
        metrics.DEAD.labels(reason).inc()
        self._log.warning(
            "record_dead_lettered",
            reason=reason,
            origin=f"{record.topic}/{record.partition}/{record.offset}",
            detail=message,
        )
        return dead_letter(
            self._topics.dlq,
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            key=record.key,
            value=record.value,
            original=record.headers,
            reason=reason,
            message=message,
            attempts=attempts,
            traceback=traceback,
        )

    def journal(self, cause: Cause, entry: JournalRecord) -> Record:
        """A record of `<ns>.journal`."""
        return Record(self._topics.journal, cause.partition, cause.key, entry.to_json(), [])

    def payload(self, cause: Cause, payload: Payload) -> Record:
        """A record for a sink: plain, and its partition is up to the topic's own number of them."""
        carried = [(name, value) for name, value in cause.carried.items() if name != headers.PARENT]
        return Record(payload.topic, ANY_PARTITION, cause.key, payload.value, [*payload.headers, *carried])

    def state(self, partition: int, record_key: bytes, value: bytes | None) -> Record:
        """An upsert of `<ns>.state`, or with None the tombstone."""
        return Record(self._topics.state, partition, state_key(self._action, record_key), value, [])

    def parked(self, partition: int, key: bytes, value: bytes | None) -> Record:
        """An upsert of `<ns>.parked`, or with None the tombstone."""
        return Record(self._topics.parked, partition, key, value, [])

    def _headers(self, cause: Cause, event_type: str) -> Headers:
        return [
            (headers.CONTENT_TYPE, self._codec.content_type),
            (headers.TYPE, event_type),
            (headers.HOPS, str(cause.hops + 1)),
            *cause.carried.items(),
        ]

    def _record(self, topic: str, cause: Cause, event: Event, out: Headers) -> Record:
        written = self._codec.encode(event.to_json_with_lineage(cause.event_id, self._action))
        return Record(topic, cause.partition, cause.key, written, out)
