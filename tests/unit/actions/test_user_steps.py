"""Steps of a handler: what they give, and what they say when they are used wrongly."""

import asyncio
import json
import threading

import pytest
from pydantic import BaseModel
from user_memory import Tally, run, why

from parkway.agents import Context


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
