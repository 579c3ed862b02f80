"""The span around a handler, with an SDK in memory."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from parkway.agents.threads import run_in_thread
from parkway.agents.tool import tool
from parkway.runtime import tracing
from parkway.runtime.records import Incoming
from parkway.schemas.events import ChatResponseEvent
from parkway.schemas.parked import Origin, ParkedRecord
from parkway.workers.actions.tool import ToolAction
from parkway.workers.effects import Effects, Failure, Park, Task
from parkway.workers.spans import describe_end, handling
from parkway.workers.work import Epoch, Lane, Work

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"
FIRST_ROUND = f"00-{TRACE}-00f067aa0ba902b7-01"


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    one = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(one))
    monkeypatch.setattr(tracing, "_tracer", provider.get_tracer("parkway"))
    yield one
    provider.shutdown()


def work(**headers: str) -> Work:
    record = Incoming(
        "acme.action.chat",
        2,
        5,
        0,
        None,
        b"{}",
        [(name.replace("_", "-"), value.encode()) for name, value in headers.items()],
    )
    return Work(Epoch(1, None), Lane.NEW, record, {"id": "e-1", "type": "ticket"})


TASK = Task({"id": "e-1", "type": "ticket"}, deadline=0)


def parked_task() -> Task:
    origin = Origin(topic="t", partition=0, offset=0, headers={"traceparent": FIRST_ROUND})
    parked = ParkedRecord(
        build="b",
        action="chat",
        record_key=None,
        origin=origin,
        request={"id": "r"},
        request_hash="h",
        round=1,
        waits_for="t-1",
        deadline=0,
    )
    return Task({"id": "e-1"}, deadline=0, parked=parked)


async def test_the_parent_is_the_records_and_what_is_sent_carries_the_span(exporter: InMemorySpanExporter) -> None:
    one = work(traceparent=PARENT, parkway_root_id="root-9")
    with handling("chat", "acme.worker.chat", one, TASK) as span:
        describe_end(span, "done", Effects(), None)
    (ended,) = exporter.get_finished_spans()
    assert ended.name == "process acme.action.chat"
    assert ended.parent.span_id == 0xB7AD6B7169203331
    assert one.traceparent == f"00-{TRACE}-{ended.context.span_id:016x}-01"
    assert ended.attributes["messaging.consumer.group.name"] == "acme.worker.chat"
    assert ended.attributes["messaging.message.id"] == "e-1"
    assert ended.attributes["messaging.message.conversation_id"] == "root-9"
    assert ended.attributes["parkway.outcome"] == "done"


async def test_a_continuation_links_to_the_span_of_its_request(exporter: InMemorySpanExporter) -> None:
    with handling("chat", "g", work(traceparent=PARENT), parked_task()):
        pass
    (ended,) = exporter.get_finished_spans()
    assert [link.context.span_id for link in ended.links] == [0x00F067AA0BA902B7]


async def test_a_record_that_is_not_sampled_keeps_its_header(exporter: InMemorySpanExporter) -> None:
    one = work(traceparent=PARENT[:-2] + "00")
    with handling("chat", "g", one, TASK):
        assert not trace.get_current_span().is_recording()
        assert trace.get_current_span().get_span_context().trace_id == int(TRACE, 16)  # the user's spans drop out too
    assert one.traceparent is None
    assert exporter.get_finished_spans() == ()


async def test_while_tracing_is_off_nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "_tracer", None)
    one = work(traceparent=PARENT)
    with handling("chat", "g", one, TASK) as span:
        describe_end(span, "done", Effects(), None)
    assert one.traceparent is None


async def test_spans_of_users_lie_inside_in_threads_too(exporter: InMemorySpanExporter) -> None:
    users = tracing.tracer()
    assert users is not None

    def sync_handler() -> None:
        with users.start_as_current_span("in a thread"):
            pass

    with handling("chat", "g", work(), TASK) as span:
        inside = span.get_span_context().span_id
        await run_in_thread(sync_handler)
        with users.start_as_current_span("on the loop"):
            pass
    by_name = {ended.name: ended for ended in exporter.get_finished_spans()}
    assert by_name["in a thread"].parent.span_id == inside
    assert by_name["on the loop"].parent.span_id == inside


def response(**error: Any) -> Effects:
    body = ChatResponseEvent(
        request_id="r",
        response=None,
        success=False,
        error={"type": "deadline_exceeded", "message": "secret", "attempts": 1} | error,
    )
    return Effects(response=body)


@pytest.mark.parametrize(
    ("effects", "error", "said"),
    [
        (None, ValueError("secret"), "ValueError"),
        (Effects(failure=Failure("action_failed", "secret", 3)), None, "action_failed"),
        (response(), None, "deadline_exceeded"),
    ],
)
async def test_a_failure_is_one_word_without_content(
    exporter: InMemorySpanExporter, effects: Effects | None, error: Exception | None, said: str
) -> None:
    with handling("chat", "g", work(), TASK) as span:
        describe_end(span, "failed", effects, error)
    (ended,) = exporter.get_finished_spans()
    assert ended.attributes["error.type"] == said
    assert ended.status.status_code is StatusCode.ERROR
    assert "secret" not in ended.to_json()


async def test_a_park_says_its_round(exporter: InMemorySpanExporter) -> None:
    with handling("chat", "g", work(), TASK) as span:
        describe_end(span, "parked", Effects(park=Park("t", ("c",), {}, 2, 0)), None)
    (ended,) = exporter.get_finished_spans()
    assert ended.attributes["parkway.round"] == 2
    assert ended.status.status_code is StatusCode.UNSET


async def test_a_cancelled_handler_ends_as_cancelled(exporter: InMemorySpanExporter) -> None:
    with pytest.raises(asyncio.CancelledError), handling("chat", "g", work(), TASK):
        raise asyncio.CancelledError
    (ended,) = exporter.get_finished_spans()
    assert ended.attributes["parkway.outcome"] == "cancelled"


async def test_each_tool_call_has_a_span_inside(exporter: InMemorySpanExporter) -> None:
    @tool
    async def lookup(number: int) -> int:
        """Looks up."""
        if number < 0:
            raise ValueError("secret")
        return number

    calls = [
        {"id": f"c{index}", "type": "function", "function": {"name": name, "arguments": {"number": number}}}
        for index, (name, number) in enumerate([("lookup", 1), ("lookup", -1), ("invented-by-a-model", 1)])
    ]
    event = {"id": "t-1", "type": "_tool_request_event", "attributes": {"model": "m", "tool_calls": calls}}
    action = ToolAction({"lookup": lookup})
    with handling("tool", "g", work(), TASK) as span:
        await action.handle(Task(event, deadline=2**53))
    ended = [one for one in exporter.get_finished_spans() if one.name.startswith("execute_tool")]
    assert sorted(one.name for one in ended) == ["execute_tool lookup", "execute_tool lookup", "execute_tool unknown"]
    assert {one.parent.span_id for one in ended} == {span.get_span_context().span_id}
    assert sorted(str(one.attributes.get("error.type")) for one in ended) == ["None", "failed", "failed"]
    assert not any("secret" in one.to_json() or "invented" in one.to_json() for one in ended)
