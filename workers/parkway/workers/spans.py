"""The span around one handler.

Its parent is the span that the record's `traceparent` names; a continuation links to the span of the request that it
goes on with as well. What the handler starts (model calls, tool calls, the user's own spans, in threads too) lies
inside it, and what it sends carries it: `Work.traceparent`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.models.instrumented import InstrumentationSettings

from parkway.runtime import tracing
from parkway.schemas import headers
from parkway.workers.effects import Effects, Task
from parkway.workers.work import Work

NO_SPAN: Final = trace.INVALID_SPAN


def trace_models(*, capture_content: bool) -> None:
    """Let pydantic-ai trace model calls (and the user's own pydantic-ai agents), unless the user has set that up."""
    if tracing.tracer() is None or PydanticAgent._instrument_default is not False:  # noqa: SLF001  it has no getter
        return
    PydanticAgent.instrument_all(
        InstrumentationSettings(
            include_content=capture_content,
            include_binary_content=capture_content,
            include_model_request_parameters=capture_content,  # the instructions stand in them
        )
    )


@contextmanager
def handling(action: str, group: str, work: Work, task: Task) -> Iterator[Span]:
    """Run the body in the span of this work; `work.traceparent` is set. No span while tracing is off."""
    tracer = tracing.tracer()
    if tracer is None:
        yield NO_SPAN
        return
    given = work.record.headers_by_name()
    context = tracing.context_of(given)
    with tracer.start_as_current_span(
        f"process {work.record.topic}",
        context,
        SpanKind.CONSUMER,
        _attributes(action, group, work, given),
        links=_links(task),
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        parent = tracing.remote_span(context)
        if span.is_recording() or parent is None:
            work.traceparent = tracing.traceparent(span)
        try:
            yield span
        except BaseException:  # it is cancelled: what is raised otherwise ends as an outcome
            span.set_attribute("parkway.outcome", "cancelled")
            raise


def describe_end(span: Span, outcome: str, effects: Effects | None, error: BaseException | None) -> None:
    """What became of the work: its outcome, attempts, and the type of what went wrong."""
    if not span.is_recording():
        return
    span.set_attribute("parkway.outcome", outcome)
    if error is not None:
        tracing.mark_failed(span, type(error).__name__)
    elif effects is not None and effects.failure is not None:
        span.set_attribute("parkway.attempts", effects.failure.attempts)
        tracing.mark_failed(span, effects.failure.reason)
    elif effects is not None and effects.park is not None:
        span.set_attribute("parkway.round", effects.park.round)
    elif effects is not None and (how := effects.how()) not in (None, "answered"):
        tracing.mark_failed(span, str(how))


def _attributes(action: str, group: str, work: Work, given: dict[str, bytes]) -> dict[str, Any]:
    record = work.record
    found = tracing.record_attributes(record.topic, record.partition, record.offset, group)
    found |= {
        "messaging.operation.name": "process",
        "messaging.message.id": str(work.event.get("id")),
        "parkway.action": action,
        "parkway.event.type": str(work.event.get("type")),
    }
    if headers.ROOT_ID in given:
        found["messaging.message.conversation_id"] = given[headers.ROOT_ID].decode("utf-8", "replace")
    return found


def _links(task: Task) -> list[trace.Link]:
    if task.parked is None:
        return []
    return tracing.links_to(tracing.remote_span(tracing.context_of(task.parked.origin.headers)))
