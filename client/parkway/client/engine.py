"""What the async and the sync client share: from an event to the one who waits for its answer.

Threads of its own do the work, so that neither an event loop nor a caller's thread ever waits for Kafka:

    sender  -> produces, once it knows where the answers' topics end
    reports -> delivery reports: now the partition is known, and it is read from that end on
    reader  -> records whose root is one of ours go to who waits
"""

import secrets
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Final

from opentelemetry.trace import get_current_span

from parkway.client.answers import Root
from parkway.client.checks import check_event, check_headers, check_key, check_timeout
from parkway.client.errors import ClientClosedError, ClientError, NotDeliveredError, RequestTimeoutError
from parkway.client.in_flight import InFlight
from parkway.client.reader import Reader
from parkway.client.sender import Outgoing, Sender
from parkway.client.waiters import OutputsWaiter, ResponseWaiter, Waiter, resolve, resolve_failed
from parkway.runtime import tracing
from parkway.runtime.clients import admin_client
from parkway.runtime.codec import event_codec
from parkway.runtime.settings import Settings
from parkway.runtime.topology import TopologyError, cluster
from parkway.schemas import headers
from parkway.schemas.event_types import EventType
from parkway.schemas.events import CancelRequestEvent, Event, Token
from parkway.schemas.headers import Headers
from parkway.schemas.json_form import EventError

Key = str | bytes | None

_CLOSE: Final = 5.0  # what is on its way to a broker gets so many seconds at the end
_OURS: Final = frozenset({headers.CONTENT_TYPE, headers.REPLY_TO, headers.CANCEL_SECRET})
# Built-in actions whose requests a cancellation ends; a token for another one would only be a record in the DLQ.
_CANCELLABLE: Final = {
    EventType.ChatRequestEvent: "chat",
    EventType.ToolRequestEvent: "tool",
    EventType.DecisionRequestEvent: "decision",
}


class Engine:
    """One client. Made when it is opened; any thread calls it afterwards.

    Raises TopologyError when no broker answers or a topic is missing, SettingsError for settings librdkafka refuses.
    """

    def __init__(self, settings: Settings, *, reply_topic: str | None, watch_dlq: bool) -> None:
        self._settings = settings
        self._topics = settings.topics
        self._reply_topic = reply_topic
        self._codec = event_codec(settings)
        self._closed = False
        self.in_flight = InFlight()
        client_id = f"{settings.namespace}.client.{secrets.token_hex(4)}"
        read, count = self._read_topics(client_id, watch_dlq=watch_dlq)
        self._reader = Reader(settings, client_id, read, self.in_flight)
        places = [(topic, number) for topic in read for number in range(count)]
        self._sender = Sender(settings, client_id, places, lambda: self._reader.reads() >= count)
        self._reader.start()
        self._sender.start()

    def _read_topics(self, client_id: str, *, watch_dlq: bool) -> tuple[list[str], int]:
        """What is read for answers, and the number of partitions. A DLQ that may not be read is not seen, either."""
        there = cluster(admin_client(self._settings, client_id), self._settings.bootstrap_servers).topics
        answers = self._reply_topic or self._topics.outputs
        for topic in (self._topics.requests, answers):
            if topic not in there:
                raise TopologyError(
                    f"missing topic {topic} (or no right to see it): is namespace {self._settings.namespace!r} right? "
                    "If so, run `parkway topics apply --plan plan.json`, or `parkway dev`"
                    if topic != self._reply_topic
                    else f"missing reply topic {topic}: create it with as many partitions as {self._topics.requests}"
                )
        count = len(there[self._topics.requests].partitions)
        if len(there[answers].partitions) < count:
            raise TopologyError(f"{answers} has fewer partitions than {self._topics.requests}, which has {count}")
        dlq = [self._topics.dlq] if watch_dlq and self._topics.dlq in there else []
        return [answers, *dlq], count

    # -- what callers ask for

    def request(self, event: Event, key: Key, seconds: float | None, extra: Mapping[str, str] | None) -> ResponseWaiter:
        """Send a request and wait for its response, in `waiter.future`."""
        check_event(event)
        waiter = ResponseWaiter(event, self._codec, self._topics)
        self._start(waiter, key, seconds, extra)
        return waiter

    def outputs(
        self, waiter: OutputsWaiter, key: Key, seconds: float | None, extra: Mapping[str, str] | None
    ) -> OutputsWaiter:
        """Send an event and give its outputs to `waiter`."""
        if self._reply_topic is not None:
            raise ClientError(
                f"this client reads {self._reply_topic} only, and outputs stand in {self._topics.outputs}: "
                "use another client, without reply_topic"
            )
        self._start(waiter, key, seconds, extra)
        return waiter

    def new_outputs_waiter(self, event: Event, give: Callable[[Event | ClientError], bool]) -> OutputsWaiter:
        check_event(event)
        return OutputsWaiter(event, self._codec, self._topics, give)

    def send(self, event: Event, key: Key, extra: Mapping[str, str] | None) -> "Future[str]":
        """Send an event; resolves with its id once Kafka has it."""
        self._check_open()
        check_event(event)
        check_key(key)
        done: Future[str] = Future()
        self._sender.send(
            Outgoing(
                self._encoded(event),
                key,
                self._headers(None, None, extra),
                done=partial(_resolve_with, done, event.id),
                failed=partial(resolve_failed, done),
            )
        )
        return done

    def cancel(self, request_id: str, action: str | None, reason: str | None) -> "Future[str]":
        """Cancel a request of ours that is in flight; resolves once Kafka has the cancellation.

        Raises ClientError when none is, or when its kind cannot be cancelled.
        """
        waiter = self.in_flight.find(request_id)
        if waiter is None:
            raise ClientError(f"no request {request_id!r} of this client is in flight: it has ended, or is another's")
        named = action or _CANCELLABLE.get(waiter.event.type)
        if named is None:
            raise ClientError(f"{waiter.event.type}: say which action holds it, by action=")
        return self._cancel_when_placed(waiter, named, reason)

    def abandon(self, waiter: Waiter, reason: str | None, *, cancel: bool) -> None:
        """Nobody waits any more; with `cancel` the request is ended, too, wherever it is by now."""
        self.in_flight.remove(waiter)
        action = _CANCELLABLE.get(waiter.event.type)
        if cancel and action is not None and not self._closed:
            self._cancel_when_placed(waiter, action, reason)

    def timed_out(self, waiter: Waiter, seconds: float | None) -> RequestTimeoutError:
        """What to raise for it."""
        if waiter.root is None:
            text = f"no broker at {self._settings.bootstrap_servers} has taken the event {waiter.event.id!r}"
        else:
            text = f"no answer to event {waiter.event.id!r} ({self._topics.requests}/{waiter.root[0]}/{waiter.root[1]})"
        return RequestTimeoutError(f"{text} within {seconds:g} s", waiter.event.id)

    def close(self) -> None:
        """Send what is on its way, for a few seconds; whoever waits gets ClientClosedError."""
        if self._closed:
            return
        self._closed = True
        self._sender.stop(_CLOSE)
        self._reader.stop()
        self.in_flight.fail(ClientClosedError("the client was closed before the answer came"))
        self._reader.join(_CLOSE)

    # -- the way of an event

    def _start(self, waiter: Waiter, key: Key, seconds: float | None, extra: Mapping[str, str] | None) -> None:
        self._check_open()
        check_key(key)
        check_timeout(seconds)
        value = self._encoded(waiter.event)
        made = self._headers(waiter, seconds, extra)
        if not self.in_flight.add(waiter):
            raise ClientError(
                f"event id {waiter.event.id!r} is in flight in this client already: a repeat has no answer of its own; "
                "give each event its own id, or none"
            )
        self._sender.send(
            Outgoing(
                value, key, made, done=partial(self._placed, waiter), failed=partial(self._lost, waiter), waiter=waiter
            )
        )

    def _placed(self, waiter: Waiter, root: Root) -> None:
        self.in_flight.place(waiter, root)
        if not waiter.over:
            assert waiter.begins is not None
            self._reader.want(root[0], waiter.begins, waiter.produced_at)
        for decided in waiter.when_placed:
            decided(root)

    def _lost(self, waiter: Waiter, error: NotDeliveredError) -> None:
        self.in_flight.undeliverable(waiter)
        waiter.fail(error)
        for decided in waiter.when_placed:
            decided(None)

    def _cancel_when_placed(self, waiter: Waiter, action: str, reason: str | None) -> "Future[str]":
        """A token names the request's partition: the cancellation waits for the delivery report."""
        sent: Future[str] = Future()

        def cancel(root: Root | None) -> None:
            if root is None:
                resolve_failed(sent, NotDeliveredError(f"request {waiter.event.id!r} itself was not delivered"))
                return
            event = CancelRequestEvent(token=str(Token(action, root[0], waiter.secret)), reason=reason)
            done, failed = partial(_resolve_with, sent, waiter.event.id), partial(resolve_failed, sent)
            self._sender.send(Outgoing(self._encoded(event), None, self._headers(None, None, None), done, failed))

        self.in_flight.when_placed(waiter, cancel)
        return sent

    def _encoded(self, event: Event) -> bytes:
        try:
            return self._codec.encode(event.to_json())
        except EventError as error:
            raise ClientError(f"event {event.id!r}: {error}") from None

    def _headers(self, waiter: Waiter | None, seconds: float | None, extra: Mapping[str, str] | None) -> Headers:
        check_headers(extra, _OURS)
        made: Headers = [(headers.CONTENT_TYPE, self._codec.content_type)]
        given = dict(extra or {})
        span = get_current_span()  # the caller's: a trace goes on through everything that the event causes
        if span.get_span_context().is_valid:
            given.setdefault(headers.TRACEPARENT, tracing.traceparent(span))
        if seconds is not None and headers.DEADLINE not in given:
            given[headers.DEADLINE] = str(int((time.time() + seconds) * 1000))
        if waiter is not None:
            made.append((headers.CANCEL_SECRET, waiter.secret))
            if self._reply_topic is not None:
                made.append((headers.REPLY_TO, self._reply_topic))
        return made + list(given.items())

    def _check_open(self) -> None:
        if self._closed:
            raise ClientClosedError("the client is closed")


def _resolve_with(future: "Future[str]", event_id: str, _root: Root) -> None:
    resolve(future, event_id)
