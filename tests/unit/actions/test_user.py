"""The user action: what the handler gets, and what becomes of what it sends."""

import asyncio
import threading
from datetime import date

import pytest
from pydantic import BaseModel, ConfigDict
from user_actions import AT_ONCE, make, run, task

from parkway.agents import (
    ChatMessage,
    ChatRequestEvent,
    ChatResponseEvent,
    Context,
    ContextError,
    Event,
    EventError,
    InputEvent,
    OutputEvent,
)
from parkway.schemas.errors import DlqReason
from parkway.workers.effects import Effects, Failure


class Ticket(BaseModel):
    amount: float


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)

    day: date
    pair: tuple[int, int]


# What the handler gets


async def test_a_model_of_the_attributes():
    got = []

    async def handle(self, ticket: Ticket, ctx: Context):
        got.append((ticket, ctx.event.type, ctx.record_key, ctx.attempt))

    effects = await run(handle, task({"amount": 3, "more": 1}, record_key=b"k"))
    assert effects == Effects()
    assert got == [(Ticket(amount=3.0), "ticket", b"k", 1)]


async def test_a_strict_model_reads_the_json_forms():
    got = []

    async def handle(self, body: Strict):
        got.append(body)

    await run(handle, task({"day": "2030-01-02", "pair": [1, 2]}))
    assert got == [Strict(day=date(2030, 1, 2), pair=(1, 2))]


async def test_the_typed_event():
    got = []

    async def handle(self, event, ctx):
        got.append((event, ctx.event))

    await run(handle, task({"input": 5}, "_input_event"))
    ((event, same),) = got
    assert isinstance(event, InputEvent)
    assert event.input == 5
    assert event is same


async def test_the_context_only():
    async def handle(self, ctx: Context):
        ctx.output(ctx.event.id)

    assert [event.output for event in (await run(handle)).outputs] == ["e1"]


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_body_that_does_not_fit_never_reaches_the_handler(is_async):
    called = []

    def sync_handle(self, ticket: Ticket, ctx: Context):
        called.append(ticket)

    async def async_handle(self, ticket: Ticket, ctx: Context):
        called.append(ticket)

    effects = await run(async_handle if is_async else sync_handle, task({"amount": "a lot"}), retry=AT_ONCE)
    assert effects.failure.reason == DlqReason.BAD_REQUEST
    assert effects.failure.attempts == 1
    assert effects.failure.message.startswith("Ticket: amount: ")
    assert "a lot" not in effects.failure.message
    assert not called


async def test_another_event_type_than_the_handler_takes():
    async def handle(self, event: ChatResponseEvent, ctx: Context): ...

    effects = await run(handle)
    message = "event type 'ticket': the handler takes ChatResponseEvent"
    assert effects == Effects(failure=Failure(DlqReason.BAD_REQUEST, message))


async def test_attributes_that_a_built_in_type_does_not_know():
    async def handle(self, event: InputEvent, ctx: Context): ...

    effects = await run(handle, task({"inptu": 5}, "_input_event"))
    assert effects.failure.reason == DlqReason.BAD_REQUEST


async def test_sync_handlers_run_in_threads():
    barrier = threading.Barrier(20, timeout=10)

    def handle(self, event, ctx):
        barrier.wait()  # passes only when 20 handlers are here
        ctx.output(threading.current_thread() is threading.main_thread())

    user = make(handle)
    results = await asyncio.gather(*(user.handle(task()) for _ in range(20)))
    assert [effects.outputs[0].output for effects in results] == [False] * 20


# What it sends


async def test_events_and_outputs_in_order():
    async def handle(self, event, ctx):
        ctx.send(Event(type="one", attributes={"n": 1}))
        ctx.output({"a": [1, None]})
        ctx.send(ChatRequestEvent(model="m", messages=[ChatMessage.user("hi")]))
        ctx.output(None)

    effects = await run(handle)
    assert [event.type for event in effects.events] == ["one", "_chat_request_event"]
    assert isinstance(effects.events[1], ChatRequestEvent)
    assert [event.output for event in effects.outputs] == [{"a": [1, None]}, None]


async def test_a_later_change_to_what_was_sent_changes_nothing():
    async def handle(self, event, ctx):
        inner = {"list": [1]}
        sent = Event(type="one", attributes=inner)
        ctx.send(sent)
        ctx.output(inner)
        inner["list"].append(2)
        sent.attributes["more"] = 3

    effects = await run(handle)
    assert effects.events[0].to_dict()["attributes"] == {"list": [1]}
    assert effects.outputs[0].output == {"list": [1]}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"type": "ticket"}, "TypeError: ctx.send(dict): an event"),
        (
            OutputEvent(output=1),
            "TypeError: ctx.send(OutputEvent(...)): an output leaves the agent by ctx.output",
        ),
        (Event(type="_output_event", attributes={"output": 1}), "TypeError: ctx.send(OutputEvent(...))"),
        (Event(type="_chat_request_event", attributes={"modell": "x"}), "EventError: "),
    ],
)
async def test_what_cannot_be_sent_raises_in_the_handler(wrong, message):
    async def handle(self, event, ctx):
        ctx.send(wrong)

    failure = (await run(handle)).failure
    assert failure.reason == DlqReason.ACTION_FAILED
    assert failure.message.startswith(message)


async def test_a_value_without_a_json_form_raises_at_that_line():
    caught = []

    async def handle(self, event, ctx):
        try:
            ctx.output({"a": [threading.Lock()]})
        except EventError as error:
            caught.append(error)

    assert await run(handle) == Effects()
    assert len(caught) == 1


async def test_the_context_ends_with_the_handler():
    contexts = []

    async def handle(self, event, ctx):
        contexts.append(ctx)

    effects = await run(handle)
    with pytest.raises(ContextError, match=r"action 'handle': ctx\.send\(\.\.\.\) after the handler returned"):
        contexts[0].send(Event(type="late", attributes={}))
    with pytest.raises(ContextError):
        contexts[0].output(1)
    assert effects == Effects()


async def test_a_returned_event_is_said_to_be_lost():
    async def handle(self, event, ctx):
        return Event(type="one", attributes={})

    assert "send it with ctx.send(event)" in (await run(handle)).failure.message
