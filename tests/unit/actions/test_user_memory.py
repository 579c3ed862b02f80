"""State, steps, sinks and the logger of a handler: what they give, and what they say when they are used wrongly."""

import asyncio
import json
import threading
from datetime import UTC, datetime

import pytest
import structlog
from pydantic import BaseModel

from parkway.agents import Agent, AgentError, Context, Retry, Sink, action, build_plan, definition_of
from parkway.agents.sink import plain_writer
from parkway.schemas.state import StateRecord
from parkway.workers.actions.user import UserAction
from parkway.workers.effects import Task


class Tally(BaseModel):
    count: int = 0


class Receipt(BaseModel):
    number: int


class Log:
    """Steps of one record, in memory: what is in it is committed."""

    largest = 1_000

    def __init__(self, **recorded: object) -> None:
        self.recorded = {name: json.dumps(value).encode() for name, value in recorded.items()}
        self.closed = False

    async def find(self, name: str) -> bytes | None:
        return self.recorded.get(name)

    async def record(self, name: str, result: bytes) -> None:
        await asyncio.sleep(0)
        self.recorded[name] = result

    def close(self) -> None:
        self.closed = True


def written(**state: object) -> bytes:
    return StateRecord(build="b", action="handle", written_by="t/0/1", state=state).to_json()


async def run(handler, *, key=b"k", given=None, log=None, sinks=None, **options):
    """One attempt; `given` is the state that is committed, `log` the steps."""
    cls = type("Support", (Agent,), {"handle": action("ticket", **options)(handler), **(sinks or {})})
    writers = {sink: plain_writer(sink, "/Support") for sink in definition_of(cls).sinks.values()}
    user = UserAction(cls(), definition_of(cls).action("handle"), sinks=writers, max_state_bytes=200)
    event = {"id": "e1", "type": "ticket", "attributes": {}}
    return await user.handle(Task(event, 0, record_key=key, state=given, steps=log, since=2**50, root_id="r1"))


async def why(handler, **options) -> str:
    effects = await run(handler, **options)
    assert effects.failure is not None
    assert effects.state is None
    return effects.failure.message


# State


async def test_state_is_a_map_that_is_written_when_it_has_changed():
    async def count(self, ctx: Context):
        assert dict(ctx.state) == {"count": 1, "names": ["a"]}
        ctx.state["count"] += 1
        ctx.state["names"].append("b")  # inside a value, too
        ctx.state["tally"] = Tally(count=3)
        ctx.state["day"] = datetime(2026, 5, 1, tzinfo=UTC)

    effects = await run(count, given=written(count=1, names=["a"]), state=True)
    assert effects.state == {"count": 2, "names": ["a", "b"], "tally": {"count": 3}, "day": "2026-05-01T00:00:00Z"}


async def test_state_that_is_only_read_is_not_written():
    async def look(self, ctx: Context):
        assert ctx.state.get("count") == 1
        ctx.state["count"] = 1
        assert ctx.state.load(Tally).count == 1

    assert (await run(look, given=written(count=1), state=True)).state is None


async def test_state_as_a_model():
    async def count(self, ctx: Context):
        tally = ctx.state.load(Tally)
        tally.count += 1
        ctx.state.save(tally)

    assert (await run(count, state=True)).state == {"count": 1}
    assert (await run(count, given=written(count=4, left="over"), state=True)).state == {"count": 5}
    message = await why(count, given=written(count="many"), state=True)
    assert "state of key b'k' does not fit Tally: count: Input should be a valid integer" in message


async def test_cleared_state_is_empty():
    async def clear(self, ctx: Context):
        ctx.state.clear()

    assert (await run(clear, given=written(count=4), state=True)).state == {}


async def test_a_failed_attempt_leaves_state_alone():
    async def fail(self, ctx: Context):
        ctx.state["count"] = 5
        raise ValueError

    await why(fail, state=True)
    assert (await run(fail, state=True, retry=Retry(attempts=2))).state is None


async def test_state_beyond_the_limit_fails_at_its_line():
    async def much(self, ctx: Context):
        ctx.state["first"] = "x" * 100
        with pytest.raises(ValueError, match=r"would have 2\d\d bytes, the limit is 200 \(PARKWAY_MAX_STATE_BYTES\)"):
            ctx.state["second"] = "x" * 100
        with pytest.raises(ValueError, match=r"ctx.state\['third'\]: <object object .* cannot be written as JSON"):
            ctx.state["third"] = object()
        with pytest.raises(TypeError, match="a name is text"):
            ctx.state[1] = 1

    effects = await run(much, state=True)
    assert list(effects.state) == ["first"]

    async def inside(self, ctx: Context):
        ctx.state["list"] = []
        ctx.state["list"].append("x" * 300)

    assert "the limit is 200" in await why(inside, state=True)


async def test_state_without_a_key_or_undeclared():
    async def use(self, ctx: Context):
        ctx.state["count"] = 1

    assert "the record of event 'e1' has no key: state is kept by key" in await why(use, key=None, state=True)
    assert "write @action(..., state=True) above it" in await why(use)
    with pytest.raises(AgentError, match=r"state=True, order='unordered'\): state is kept by key"):
        action("ticket", state=True, order="unordered")
    with pytest.raises(AgentError, match=r"steps=1\): True or False"):
        action("ticket", steps=1)


async def test_state_that_cannot_be_read_fails_the_record_and_stays():
    async def use(self, ctx: Context):
        ctx.state["count"] = 1

    message = await why(use, given=b'{"v": 3}', state=True)
    assert "state of key b'k' cannot be read: state record: v: this version reads 1, got 3" in message


# Steps


async def charge(number: int) -> Receipt:
    return Receipt(number=number)


async def test_a_step_gives_the_same_the_first_time_and_from_the_record():
    ran = []

    async def pay(self, ctx: Context):
        ran.append(await ctx.step("charge", charge, 3))
        ran.append(await ctx.step("plain", lambda: {"a": [1, None]}))
        ran.append(await ctx.step("typed", lambda: Receipt(number=4), returns=Receipt))
        ran.append(await ctx.step("nothing", lambda: None))

    log = Log()
    assert (await run(pay, log=log, steps=True)).failure is None
    assert ran == [Receipt(number=3), {"a": [1, None]}, Receipt(number=4), None]
    assert list(log.recorded) == ["charge", "plain", "typed", "nothing"]
    assert log.closed
    ran.clear()
    assert await run(pay, log=Log(charge={"number": 7}, plain=1, typed={"number": 8}, nothing=None), steps=True)
    assert ran == [Receipt(number=7), 1, Receipt(number=8), None]


async def test_a_sync_function_of_a_step_does_not_stop_the_event_loop():
    here, there = threading.get_ident(), []

    async def pay(self, ctx: Context):
        await ctx.step("thread", lambda: there.append(threading.get_ident()))

    assert (await run(pay, log=Log(), steps=True)).failure is None
    assert there
    assert there[0] != here


async def test_steps_of_a_sync_handler():
    seen = []

    def pay(self, ctx: Context):
        seen.append(ctx.step_sync("ship", lambda: "parcel"))
        with pytest.raises(RuntimeError, match=r"in a sync handler: call ctx.step_sync"):
            ctx.step("ship", lambda: "parcel")

    log = Log()
    assert (await run(pay, log=log, steps=True)).failure is None
    assert (await run(pay, log=log, steps=True)).failure is None
    assert seen == ["parcel", "parcel"]
    assert log.recorded == {"ship": b'"parcel"'}


async def test_what_a_step_raises_is_not_recorded():
    def broken() -> int:
        raise OSError("the bank is closed")

    async def pay(self, ctx: Context):
        await ctx.step("charge", broken)

    log = Log()
    assert "the bank is closed" in await why(pay, log=log, steps=True)
    assert log.recorded == {}


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (lambda ctx: [ctx.step("a", lambda: 1), ctx.step("a", lambda: 2)], "step 'a' stands in this handler twice"),
        (lambda ctx: [ctx.step("a", lambda: (1, 2))], "its result (1, 2) is no plain JSON"),
        (lambda ctx: [ctx.step("a", object)], "is no plain JSON"),
        (lambda ctx: [ctx.step("a", lambda: float("nan"))], "is no plain JSON"),
        (lambda ctx: [ctx.step("a", lambda: 1, returns=threading.Lock)], "has no JSON form"),
        (lambda ctx: [ctx.step("a", lambda: "x" * 2_000)], "its result has 2,002 bytes, the limit is 1,000"),
        (lambda ctx: [ctx.step("", lambda: 1)], "a name has 1 to 200 printable characters"),
        (lambda ctx: [ctx.step("old", charge, 1)], "what is recorded is no <class"),
    ],
)
async def test_steps_that_cannot_be_meant(steps, message):
    async def pay(self, ctx: Context):
        for one in steps(ctx):
            await one

    assert message in await why(pay, log=Log(old="text"), steps=True)


def number(given: object) -> int:
    return given  # type: ignore[return-value]


def not_finite() -> float:
    return float("nan")


def half() -> Receipt:
    return Receipt.model_construct(number="s3cret")


def surrogate() -> str:
    return "\ud800"


@pytest.mark.parametrize("function", [lambda: number("s3cret"), not_finite, half, surrogate])
async def test_a_result_that_does_not_read_back_is_not_recorded(function, recwarn):
    """Recorded, it would fail each attempt to come, under a message that blames another version of the code."""
    log = Log()
    returns = int if function.__name__ == "<lambda>" else None

    async def handle(self, ctx: Context):
        await ctx.step("odd", function, returns=returns)

    message = await why(handle, steps=True, log=log)
    assert "StepError: step 'odd': its result cannot be written as" in message
    assert log.recorded == {}
    assert "s3cret" not in message + "".join(str(one.message) for one in recwarn)


async def test_a_result_in_another_shape_of_its_type_is_read_as_that():
    def loose() -> Receipt:
        return {"number": 3}  # type: ignore[return-value]

    async def handle(self, ctx: Context):
        ctx.output((await ctx.step("charge", loose)).number)

    (output,) = (await run(handle, steps=True, log=Log())).outputs
    assert output.attributes == {"output": 3}


async def test_what_is_written_is_quoted_in_no_warning(recwarn):
    """pydantic warns of a field that is not of its type, and quotes it: warnings stand in the logs."""

    async def handle(self, ctx: Context):
        ctx.state.save(Tally.model_construct(count="s3cret"))
        ctx.output(Tally.model_construct(count="s3cret"))

    assert (await run(handle, state=True)).failure is None
    assert [str(one.message) for one in recwarn] == []


async def test_steps_undeclared_and_late():
    async def pay(self, ctx: Context):
        late.append(ctx)
        await ctx.step("a", lambda: 1)

    late: list[Context] = []
    assert "write @action(..., steps=True) above it" in await why(pay)
    await run(pay, log=Log(), steps=True)
    with pytest.raises(RuntimeError, match="after the handler returned"):
        await late[1].step("b", lambda: 1)


# Sinks


async def test_payloads_in_their_formats():
    sinks = {"orders": Sink("shop.orders"), "news": Sink("shop.news", format="cloudevents", type="done", source="/x")}

    async def tell(self, ctx: Context):
        ctx.output(Tally(count=3), to=self.orders)
        ctx.output([1], to=self.news)
        ctx.output("ours")

    effects = await run(tell, sinks=sinks)
    assert len(effects.outputs) == 1
    plain, event = effects.payloads
    assert (plain.topic, plain.value) == ("shop.orders", b'{"count":3}')
    assert plain.headers == [("content-type", b"application/json")]
    body = json.loads(event.value)
    assert (body["specversion"], body["type"], body["source"], body["data"]) == ("1.0", "done", "/x", [1])
    assert body["id"]
    assert body["time"].endswith("Z")
    assert event.headers == [("content-type", b"application/cloudevents+json")]


async def test_outputs_that_go_nowhere():
    async def elsewhere(self, ctx: Context):
        ctx.output(1, to=Sink("shop.orders"))

    async def text(self, ctx: Context):
        ctx.output(1, to="shop.orders")

    async def unwritable(self, ctx: Context):
        ctx.output(object(), to=self.orders)

    assert "write orders = Sink('shop.orders') in the agent's class" in await why(elsewhere)
    assert "to=str): a Sink, such as to=self.orders" in await why(text)
    assert "output: <object object" in await why(unwritable, sinks={"orders": Sink("shop.orders")})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"format": "jsn"}, r"format 'jsn': one of json, avro, cloudevents \(did you mean json"),
        ({"format": "cloudevents"}, "a CloudEvent needs a type"),
        ({"type": "x"}, "type= belongs to format='cloudevents', not 'json'"),
        ({"schema": "{}"}, "schema= belongs to format='avro'"),
        ({"format": "avro", "schema": "{}"}, "schema: no Avro schema"),
    ],
)
def test_sinks_that_cannot_be_meant(arguments, message):
    with pytest.raises(AgentError, match=message):
        Sink("shop.orders", **arguments)


def test_the_plan_names_what_is_kept_and_written():
    class Orders(Agent):
        done = Sink("shop.done")

        @action("order", state=True, steps=True)
        async def pay(self, ctx: Context): ...

        @action("other")
        async def other(self, ctx: Context): ...

    plan = build_plan(Orders, "orders:Orders")
    assert [(one.keeps_state, one.keeps_steps) for one in plan.actions] == [(True, True), (False, False)]
    assert [(sink.topic, sink.format) for sink in plan.sinks] == [("shop.done", "json")]
    with pytest.raises(AgentError, match=r"done and again both write topic 'shop.done'"):
        type("Twice", (Orders,), {"again": Sink("shop.done")})


# The logger


async def test_lines_of_a_handler_name_what_it_handles():
    async def say(self, ctx: Context):
        ctx.logger.info("refunded", amount=3)

    with structlog.testing.capture_logs() as lines:
        assert (await run(say)).failure is None
    (line,) = [one for one in lines if one["event"] == "refunded"]
    assert line == {
        "event": "refunded",
        "log_level": "info",
        "component": "action",
        "action": "handle",
        "event_id": "e1",
        "root_id": "r1",
        "attempt": 1,
        "amount": 3,
    }
