"""The spans of a router: one per event of a sampled trace, one per batch that links to them.

An event's span begins when the event is taken and ends with its transaction; what the event causes carries it in
`traceparent`, and nothing else of the bytes changes. An outside event without a trace begins one, if the sampler says
so; if not, its `traceparent` says that too, so that no later hop begins one. An event whose trace is not sampled
passes as it is.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Tracer

from parkway.runtime import tracing
from parkway.runtime.records import Incoming, Record
from parkway.schemas import headers
from parkway.schemas.topics import Topics


class BatchTrace:
    """The spans of one batch: `route` on the thread that matches, then `begin` and `end` on the producer's."""

    def __init__(self, tracer: Tracer, topics: Topics) -> None:
        self._tracer = tracer
        self._topics = topics
        self._began = time.time_ns()
        self._events: list[Span] = []
        self._batch: Span | None = None

    def route(self, source: Incoming, route: Callable[[Incoming], list[Record]]) -> list[Record]:
        """What `route` gives, with the event's span around it and in it."""
        span = self._start(source)
        if span is None:
            return route(source)
        if not span.is_recording():
            return _carrying(span, route(source))
        with trace.use_span(span, record_exception=False, set_status_on_exception=False):
            caused = route(source)
        self._events.append(span)
        _describe(span, caused)
        return _carrying(span, caused)

    def begin(self, sources: int) -> None:
        """The batch's transaction begins."""
        self._batch = self._tracer.start_span(
            f"commit {self._topics.router_group}",
            context=Context(),  # of no event's trace: it links to all of them
            kind=SpanKind.CLIENT,
            start_time=self._began,
            links=tracing.links_to(*(span.get_span_context() for span in self._events)),
            attributes={
                "messaging.system": "kafka",
                "messaging.operation.type": "send",
                "messaging.consumer.group.name": self._topics.router_group,
                "messaging.batch.message_count": sources,
            },
        )

    def end(self, error_type: str | None = None) -> None:
        """The batch is committed, or `error_type` says why it never will be."""
        for span in (self._batch, *self._events):
            if span is None:
                continue
            if error_type is not None:
                tracing.mark_failed(span, error_type)
            span.end()

    def _start(self, source: Incoming) -> Span | None:
        """The span of an event whose trace is sampled, or that begins one; None: it passes as it is."""
        context = tracing.context_of(headers.as_dict(source.headers))
        parent = tracing.remote_span(context)
        if parent is None and source.topic == self._topics.events:
            return None
        if parent is not None and not parent.trace_flags.sampled:
            return None
        place = tracing.record_attributes(source.topic, source.partition, source.offset, self._topics.router_group)
        span = self._tracer.start_span(
            f"route {source.topic}",
            context,
            SpanKind.CONSUMER,
            {**place, "messaging.operation.name": "route"},
        )
        return span if span.is_recording() or parent is None else None


@contextmanager
def committing(batch: BatchTrace | None, sources: int) -> Iterator[None]:
    """The batch of so many sources is committed in the body; what that raises ends it badly."""
    if batch is None:
        yield
        return
    batch.begin(sources)
    try:
        yield
    except Exception as error:
        batch.end(type(error).__name__)
        raise
    batch.end()


def batch_trace(topics: Topics) -> BatchTrace | None:
    """The spans of a new batch; None while tracing is off."""
    tracer = tracing.tracer()
    return BatchTrace(tracer, topics) if tracer is not None else None


def _carrying(span: Span, caused: Sequence[Record]) -> list[Record]:
    value = tracing.traceparent(span)
    return [replace(record, headers=tracing.with_traceparent(record.headers, value)) for record in caused]


def _describe(span: Span, caused: Sequence[Record]) -> None:
    """The event's type, where it went, and why it was refused if it was."""
    span.set_attribute("parkway.published_to", [record.topic for record in caused])
    for record in caused:
        named = headers.as_dict(record.headers)
        if headers.ERROR_TYPE in named:
            tracing.mark_failed(span, named[headers.ERROR_TYPE].decode("utf-8", "replace"))
        elif headers.TYPE in named:
            span.set_attribute("parkway.event.type", named[headers.TYPE].decode("utf-8", "replace"))
