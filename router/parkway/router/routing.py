"""From a record to the records it causes: which actions an event goes to, what is refused, what is answered.

Pure: no Kafka calls, no state but the plan's. One source record on partition p causes records on p only.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from parkway.router.admission import RefusedError, admit
from parkway.router.control import Control
from parkway.router.failures import failed_response
from parkway.router.table import TriggerTable
from parkway.runtime import metrics
from parkway.runtime.codec import EventCodec
from parkway.runtime.dlq import dead_letter
from parkway.runtime.logs import get_logger
from parkway.runtime.records import Incoming, Record
from parkway.schemas import headers, jsonio
from parkway.schemas.avro import AvroCodec
from parkway.schemas.avro.codec import RegistryUnavailableError
from parkway.schemas.errors import DlqReason, ErrorType
from parkway.schemas.event_types import REQUEST_TYPES, TOKEN_TYPES
from parkway.schemas.format_error import FormatError
from parkway.schemas.headers import Headers
from parkway.schemas.plan import Plan, PlanError, SourcePlan
from parkway.schemas.topics import Topics

_TRIGGER_LOGS_PER_ACTION: Final = 20


class Routing:
    """One plan, compiled. Raises TriggerLoadError (of `parkway.router.cel`) for a plan that does not load.

    Raises PlanError for an Avro source without a schema registry. `partitions` is P, that of our topics: a record on
    partition s of a source goes to s mod P, a token beyond P is refused. `route` runs on the router's thread only;
    `refuse` on any.
    """

    def __init__(self, plan: Plan, topics: Topics, codec: EventCodec | None = None, partitions: int = 1) -> None:
        self.plan = plan
        self.partitions = partitions
        self._topics = topics
        self._codec = codec or EventCodec(AvroCodec())
        self._sources = {source.topic: source for source in plan.sources}
        for source in plan.sources:
            if source.format == "avro" and not self._codec.avro.has_registry:
                raise PlanError(
                    f"source {source.topic}: format avro needs a schema registry: set PARKWAY_SCHEMA_REGISTRY"
                )
        self._table = TriggerTable(
            [(action.name, action.triggers) for action in plan.actions], on_error=self._on_trigger_error
        )
        self._action_topics = {action.name: topics.action(action.name) for action in plan.actions}
        for action in plan.actions:
            metrics.ROUTED.labels(action.name)  # shows 0 from the start
        self._parks = {action.name: topics.resume(action.name) for action in plan.actions if action.parks_requests}
        self._routed: Counter[str] = Counter()  # by action, since the last `report`
        self._unmatched: Counter[str] = Counter()  # by type
        self._resumed: dict[str, list[str]] = {}
        for action in plan.actions:
            for event_type in set(action.resumed_by) - TOKEN_TYPES:
                self._resumed.setdefault(event_type, []).append(topics.resume(action.name))
        self._control = Control(plan, topics)
        self._log = get_logger("router")
        self._logged_errors: dict[str, int] = {}
        self._trigger_failures: list[str] = []

    @property
    def namespace(self) -> str:
        """The prefix of our topics."""
        return self._topics.namespace

    @property
    def input_topics(self) -> tuple[str, ...]:
        """What a router subscribes to for this plan."""
        return (self._topics.requests, self._topics.events, *self._sources)

    def role(self, topic: str) -> str:
        """What a topic that is read is, in metrics: `requests`, `events` or `sources`."""
        if topic == self._topics.requests:
            return "requests"
        return "events" if topic == self._topics.events else "sources"

    def route(self, record: Incoming) -> list[Record]:
        """Everything that `record` causes; an empty list when nothing matches it.

        A record that meets a defect of ours goes to the DLQ: it would end one router after the other. Raises
        RegistryUnavailableError: then the record is not to blame.
        """
        try:
            return self._route(record)
        except RegistryUnavailableError:
            raise
        except Exception as error:
            origin = f"{record.topic}/{record.partition}/{record.offset}"
            self._log.exception("record_not_understood", origin=origin)
            return [self.refuse(record, DlqReason.INVALID_EVENT, f"it cannot be routed: {type(error).__name__}")]

    def _route(self, record: Incoming) -> list[Record]:
        if record.topic == self._topics.events:
            return self._from_inside(record)
        if record.topic == self._topics.requests:
            return self._from_outside(record, None)
        return self._from_outside(record, self._sources[record.topic])

    def report(self) -> None:
        """Add to the metrics what was counted since the last call: a metric takes a lock, so once a batch."""
        for name, count in self._routed.items():
            metrics.ROUTED.labels(name).inc(count)
        for event_type, count in self._unmatched.items():
            metrics.NO_MATCH.labels(event_type).inc(count)
        self._routed.clear()
        self._unmatched.clear()

    def refuse(self, record: Incoming, reason: DlqReason, message: str) -> Record:
        """The DLQ record for `record`."""
        metrics.DEAD.labels(reason).inc()
        self._log.warning(
            "record_refused",
            reason=reason,
            origin=f"{record.topic}/{record.partition}/{record.offset}",
            detail=message,
        )
        return dead_letter(
            self._topics.dlq,
            topic=record.topic,
            partition=record.partition,
            to=self._partition(record),
            offset=record.offset,
            key=record.key,
            value=record.value,
            original=record.headers,
            reason=reason,
            message=message,
        )

    def _partition(self, record: Incoming) -> int:
        """Where all that `record` causes goes."""
        return record.partition % self.partitions if record.topic in self._sources else record.partition

    def _from_outside(self, record: Incoming, source: SourcePlan | None) -> list[Record]:
        try:
            admitted = admit(record, self.plan, self._codec, source)
        except RefusedError as refused:
            return [self.refuse(record, refused.reason, str(refused))]
        return self._publish(record, admitted.event, admitted.value, admitted.headers, None)

    def _from_inside(self, record: Incoming) -> list[Record]:
        """Bytes are forwarded untouched, and not decoded when the type alone decides."""
        given = headers.as_dict(record.headers)
        event_type = given.get(headers.TYPE, b"").decode("utf-8", "replace")
        value = record.value
        if not event_type or value is None:
            detail = f"expected a value and a header {headers.TYPE}"
            return [self.refuse(record, DlqReason.INVALID_EVENT, detail)]
        actions = self._table.match_type(event_type)
        over_limit = headers.number(given.get(headers.HOPS), 0) > self.plan.hop_limit
        event: Mapping[str, Any] | None = None
        by_token = event_type in TOKEN_TYPES
        if actions is None or over_limit or by_token or (not actions and event_type in REQUEST_TYPES):
            try:
                event = jsonio.loads(self._codec.decode(value), max_depth=jsonio.PARSER_DEPTH)
            except (jsonio.JsonError, FormatError) as error:
                return [self.refuse(record, DlqReason.INVALID_JSON, str(error))]
            if not _is_event(event, event_type):
                detail = f"not an event of type {event_type!r}, which the header {headers.TYPE} says it is"
                return [self.refuse(record, DlqReason.INVALID_EVENT, detail)]
        if over_limit and not by_token:
            return self._over_hop_limit(record, event, event_type)
        if event is not None:
            return self._publish(record, event, value, record.headers, event_type)
        return self._to_actions(record, actions or [], event_type, value, record.headers)

    def _publish(
        self,
        record: Incoming,
        event: Mapping[str, Any],
        value: bytes,
        out: Headers,
        inside_type: str | None,
    ) -> list[Record]:
        event_type = inside_type or event["type"]
        if event_type in TOKEN_TYPES:
            return self._to_parked(record, event, value, out, outside=inside_type is None)
        self._trigger_failures.clear()
        actions = self._table.match(event)
        copies: list[Record] = []
        if self._trigger_failures and self.plan.on_trigger_error == "fail":
            detail = self._trigger_failures[0]
            if event_type in REQUEST_TYPES:
                return self._answer(record, event, out, ErrorType.BAD_REQUEST, detail) or [
                    self.refuse(record, DlqReason.TRIGGER_ERROR, detail)
                ]
            actions = []
            copies = [self.refuse(record, DlqReason.TRIGGER_ERROR, detail)]
        routed = self._to_actions(record, actions, event_type, value, out)
        if routed or copies:
            return routed + copies
        if event_type in REQUEST_TYPES:
            message = f"no action of the plan takes {event_type}"
            return self._answer(record, event, out, ErrorType.NO_ACTION, message) or [
                self.refuse(record, DlqReason.NO_ACTION, message)
            ]
        return []

    def _to_actions(
        self, record: Incoming, actions: Sequence[str], event_type: str, value: bytes, out: Headers
    ) -> list[Record]:
        topics = self._action_topics
        if event_type in REQUEST_TYPES and self._parks and headers.PARENT in headers.as_dict(out):
            # For a parked request: behind new work that waits for a free place it would wait for ever.
            topics = topics | self._parks
        targets = [topics[name] for name in actions]
        if event_type in self._resumed:
            targets += self._resumed[event_type]
        for name in actions:
            self._routed[name] += 1
        if not targets:
            self._unmatched[event_type if event_type.startswith("_") else "other"] += 1
        partition = self._partition(record)
        return [Record(topic, partition, record.key, value, out) for topic in targets]

    def _to_parked(
        self, record: Incoming, event: Mapping[str, Any], value: bytes, out: Headers, *, outside: bool
    ) -> list[Record]:
        """To the request that is meant; a cancellation or approval from inside may fire triggers, too."""
        try:
            targets = self._control.targets(event, self._partition(record), self.partitions, outside=outside)
        except RefusedError as refused:
            return [self.refuse(record, refused.reason, str(refused))]
        actions = [] if outside else self._table.match(event)
        fired = self._to_actions(record, actions, event["type"], value, out) if actions else []
        return fired + [Record(topic, partition, record.key, value, out) for topic, partition in targets]

    def _over_hop_limit(self, record: Incoming, event: Mapping[str, Any] | None, event_type: str) -> list[Record]:
        """The chain ends here; what is parked still gets its continuation, a request its answer."""
        message = f"more than {self.plan.hop_limit} events in one chain: does a trigger trigger itself?"
        if event_type in self._resumed:
            return self._to_actions(record, [], event_type, record.value or b"", record.headers)
        if event is not None and event_type in REQUEST_TYPES:
            answer = self._answer(record, event, record.headers, ErrorType.INTERNAL, message)
            if answer:
                return answer
        return [self.refuse(record, DlqReason.HOP_LIMIT, message)]

    def _answer(
        self, record: Incoming, request: Mapping[str, Any], given: Headers, error: ErrorType, message: str
    ) -> list[Record]:
        """The failed response to a refused request; nothing when its kind has no failed form."""
        response = failed_response(request, error, message)
        if response is None:
            return []
        named = headers.as_dict(given)
        topic = self._topics.events
        if headers.EXTERNAL in named and not self.plan.route_external_responses:
            topic = named.get(headers.REPLY_TO, self._topics.outputs.encode()).decode("utf-8", "replace")
        out: Headers = [
            (headers.CONTENT_TYPE, self._codec.content_type),
            (headers.TYPE, response["type"].encode()),
        ]
        out += [(name, value) for name, value in named.items() if name in headers.COPIED_ON_EVERY_HOP]
        out.append((headers.HOPS, named.get(headers.HOPS, b"0")))
        return [Record(topic, self._partition(record), record.key, self._codec.encode(jsonio.dumps(response)), out)]

    def _on_trigger_error(self, action: str, trigger: str, error: Exception) -> None:
        metrics.TRIGGER_ERRORS.labels(action).inc()
        self._trigger_failures.append(f"action {action!r}: trigger {trigger!r}: {error}")
        seen = self._logged_errors[action] = self._logged_errors.get(action, 0) + 1
        if seen <= _TRIGGER_LOGS_PER_ACTION or seen % 10_000 == 0:
            self._log.warning("trigger_error", action=action, trigger=trigger, detail=str(error), count=seen)


def _is_event(body: Any, event_type: str) -> bool:
    return (
        isinstance(body, dict)
        and body.get("type") == event_type
        and isinstance(body.get("id"), str)
        and isinstance(body.get("attributes", {}), dict)
    )
