"""Agents with steps, state and sinks. The workers import this module by name."""

import asyncio
import os
import time
from pathlib import Path

from agents import note
from pydantic import BaseModel

from parkway.agents import Agent, Context, Retry, Sink, action


class Input(BaseModel):
    number: int
    wait: float = 0.0
    fails: int = 0  # attempts that fail


class Receipt(BaseModel):
    number: int
    charged_by: int


async def charge(number: int) -> Receipt:
    note("charge", str(number))
    return Receipt(number=number, charged_by=os.getpid())


def ship(number: int) -> str:
    note("ship", str(number))
    return f"parcel {number}"


async def gate(name: str) -> None:
    """Wait until the file is there."""
    while not (Path(os.environ["TEST_NOTES"]) / name).exists():  # noqa: ASYNC110  a test's gate
        await asyncio.sleep(0.05)


class Payments(Agent):
    """Steps."""

    @action("pay", external=True, order="unordered", steps=True, retry=Retry(attempts=3, backoff=0.1), timeout=60)
    async def pay(self, given: Input, ctx: Context) -> None:
        receipt = await ctx.step("charge", charge, given.number)
        note("charged", str(given.number))
        parcel = await ctx.step("ship", ship, given.number)
        if given.wait:
            await gate("open")
        if ctx.attempt <= given.fails:
            raise ValueError("after its steps")
        ctx.output({"number": receipt.number, "charged_by": receipt.charged_by, "parcel": parcel})

    @action("pay-sync", external=True, order="unordered", steps=True)
    def pay_sync(self, given: Input, ctx: Context) -> None:
        parcel = ctx.step_sync("ship", ship, given.number)
        while given.wait and not (Path(os.environ["TEST_NOTES"]) / "open").exists():
            time.sleep(0.05)
        ctx.output({"number": given.number, "parcel": parcel})

    @action("too-much", external=True, steps=True)
    async def too_much(self, given: Input, ctx: Context) -> None:
        await ctx.step("large", lambda: "x" * given.number)


class Counts(BaseModel):
    seen: int = 0
    total: int = 0


class Counters(Agent):
    """State: how many inputs of a key there were."""

    @action("count", external=True, state=True, retry=Retry(attempts=2, backoff=0.05))
    async def count(self, given: Input, ctx: Context) -> None:
        counts = ctx.state.load(Counts)
        counts.seen += 1
        counts.total += given.number
        ctx.state.save(counts)
        if given.wait:
            await asyncio.sleep(given.wait)
        if ctx.attempt <= given.fails:
            raise ValueError("after it changed its state")
        ctx.output({"number": given.number, "seen": counts.seen, "total": counts.total})
        if given.number == -1:
            ctx.state.clear()


class Shop(Agent):
    """A sink in each format that needs no registry."""

    orders = Sink(os.environ.get("TEST_SINK", "no.such.sink"))
    news = Sink(os.environ.get("TEST_SINK", "no.such.sink") + ".news", format="cloudevents", type="order.done")

    @action("order", external=True, order="unordered")
    async def process(self, given: Input, ctx: Context) -> None:
        ctx.output({"number": given.number, "at": "shop"}, to=self.orders)
        ctx.output({"number": given.number}, to=self.news)
        ctx.output({"number": given.number})
        if given.fails:
            raise ValueError("nothing of it is published")
