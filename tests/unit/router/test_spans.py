"""The spans of a router's batch, with an SDK in memory."""

from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased
from opentelemetry.trace import StatusCode, get_current_span

from parkway.router.spans import BatchTrace
from parkway.runtime.records import Incoming, Record
from parkway.schemas.topics import Topics

TOPICS = Topics("acme")
TRACE = "0af7651916cd43dd8448eb211c80319c"
SAMPLED = f"00-{TRACE}-b7ad6b7169203331-01".encode()
NOT_SAMPLED = f"00-{TRACE}-b7ad6b7169203331-00".encode()


@pytest.fixture
def exporter() -> Iterator[InMemorySpanExporter]:
    one = InMemorySpanExporter()
    yield one
    one.clear()


def batch(exporter: InMemorySpanExporter, sampler: object = None) -> BatchTrace:
    provider = TracerProvider(sampler=sampler)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return BatchTrace(provider.get_tracer("test"), TOPICS)


def source(topic: str, *headers: tuple[str, bytes], offset: int = 7) -> Incoming:
    return Incoming(topic, 1, offset, 0, b"k", b"v", list(headers))


def forward(record: Incoming) -> list[Record]:
    """Route to two actions, as it is."""
    return [Record(TOPICS.action(name), record.partition, record.key, record.value, record.headers) for name in "ab"]


def traceparents(records: list[Record]) -> list[bytes]:
    return [value for record in records for name, value in record.headers if name == "traceparent"]


def is_sampled(value: bytes) -> bool:
    return bool(int(value.rpartition(b"-")[2], 16) & 1)  # the other flag says that the trace id is random


def test_a_sampled_event_has_a_span_that_what_it_causes_carries(exporter: InMemorySpanExporter) -> None:
    one = batch(exporter)
    given = (("parkway-type", b"ticket"), ("traceparent", SAMPLED), ("tracestate", b"v=1"), ("other", b"\x00"))
    caused = one.route(source(TOPICS.events, *given), forward)
    one.begin(1)
    one.end()
    commit, event = sorted(exporter.get_finished_spans(), key=lambda span: span.name)
    assert event.name == "route acme.events"
    assert event.parent.span_id == 0xB7AD6B7169203331
    assert f"{event.context.trace_id:032x}" == TRACE
    assert traceparents(caused) == [f"00-{TRACE}-{event.context.span_id:016x}-01".encode()] * 2
    for record in caused:
        assert [pair for pair in record.headers if pair[0] != "traceparent"] == [
            pair for pair in given if pair[0] != "traceparent"
        ]
        assert record.value == b"v"
    assert event.attributes["messaging.kafka.offset"] == 7
    assert event.attributes["messaging.destination.partition.id"] == "1"
    assert event.attributes["parkway.event.type"] == "ticket"
    assert event.attributes["parkway.published_to"] == ("acme.action.a", "acme.action.b")
    assert commit.name == "commit acme.router"
    assert commit.parent is None
    assert [link.context.span_id for link in commit.links] == [event.context.span_id]
    assert commit.attributes["messaging.batch.message_count"] == 1


def test_an_event_that_is_not_sampled_passes_as_it_is(exporter: InMemorySpanExporter) -> None:
    one = batch(exporter)
    record = source(TOPICS.events, ("traceparent", NOT_SAMPLED))
    caused = one.route(record, forward)
    assert all(made.headers is record.headers for made in caused)
    inside = source(TOPICS.events)  # no trace: not the router's to begin
    assert traceparents(one.route(inside, forward)) == []
    one.begin(2)
    one.end()
    assert [span.name for span in exporter.get_finished_spans()] == ["commit acme.router"]


@pytest.mark.parametrize("broken", [(), (("traceparent", b"nonsense"),)])
def test_an_outside_event_without_a_trace_begins_one(
    exporter: InMemorySpanExporter, broken: tuple[tuple[str, bytes], ...]
) -> None:
    one = batch(exporter)
    caused = one.route(source(TOPICS.requests, *broken), forward)
    one.end()
    (event,) = exporter.get_finished_spans()
    assert event.parent is None
    begun = f"00-{event.context.trace_id:032x}-{event.context.span_id:016x}-".encode()
    assert [value.startswith(begun) and is_sampled(value) for value in traceparents(caused)] == [True, True]


def test_what_the_sampler_leaves_out_says_so_to_later_hops(exporter: InMemorySpanExporter) -> None:
    one = batch(exporter, ParentBased(ALWAYS_OFF))
    caused = one.route(source(TOPICS.requests), forward)
    one.end()
    assert exporter.get_finished_spans() == ()
    assert [is_sampled(value) for value in traceparents(caused)] == [False, False]


def test_a_refused_event_says_why(exporter: InMemorySpanExporter) -> None:
    def refuse(record: Incoming) -> list[Record]:
        assert get_current_span().is_recording()  # what is logged meanwhile names the trace
        return [Record(TOPICS.dlq, 1, b"k", b"v", [*record.headers, ("parkway-error-type", b"bad_id")])]

    one = batch(exporter)
    one.route(source(TOPICS.requests, ("traceparent", SAMPLED)), refuse)
    one.end()
    (event,) = exporter.get_finished_spans()
    assert event.status.status_code is StatusCode.ERROR
    assert event.attributes["error.type"] == "bad_id"


def test_a_batch_that_is_never_committed_ends_badly(exporter: InMemorySpanExporter) -> None:
    one = batch(exporter)
    one.route(source(TOPICS.requests, ("traceparent", SAMPLED)), forward)
    one.begin(1)
    one.end("fenced")
    ended: tuple[ReadableSpan, ...] = exporter.get_finished_spans()
    assert len(ended) == 2
    assert all(span.status.status_code is StatusCode.ERROR for span in ended)
