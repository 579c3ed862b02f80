"""State, sinks and the logger of a handler: what they give, and what they say when they are used wrongly."""

import json
from datetime import UTC, datetime

import pytest
import structlog
from user_memory import Tally, run, why

from parkway.agents import Agent, AgentError, Context, Retry, Sink, action, build_plan
from parkway.schemas.state import StateRecord


def written(**state: object) -> bytes:
    return StateRecord(build="b", action="handle", written_by="t/0/1", state=state).to_json()


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
