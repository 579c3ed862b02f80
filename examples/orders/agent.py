"""Orders: charge a card once, remember what a customer spent, tell the shop's own topic."""

import random
from collections.abc import AsyncIterator
from typing import Any

from pydantic import BaseModel

from parkway.agents import Agent, Context, Event, Retry, Sink, action


class Order(BaseModel):
    order_id: str
    card: str
    amount: float


class Receipt(BaseModel):
    number: str
    amount: float


class Customer(BaseModel):
    """What is remembered of a customer; every field has a default, for a customer that is new."""

    orders: int = 0
    spent: float = 0.0


class Bank:
    """Stands for a payment provider's client."""

    async def charge(self, card: str, amount: float, idempotency_key: str) -> Receipt:
        return Receipt(number=f"r-{idempotency_key}-{card[-4:]}", amount=amount)

    async def close(self) -> None:
        print("the bank's client is closed")


class Orders(Agent):
    done = Sink("shop.orders.done")

    async def lifespan(self) -> AsyncIterator[None]:
        """Once in a process: before the first record, and after the last one."""
        self.bank = Bank()
        yield
        await self.bank.close()

    @action(
        "order",
        external=True,
        state=True,
        steps=True,
        retry=Retry(attempts=3, on=(TimeoutError, OSError), backoff=2),
        timeout=30,
        deadline=300,
    )
    async def pay(self, order: Order, ctx: Context) -> None:
        """One order of a customer (the record's key) at a time."""
        receipt = await ctx.step("charge", self.bank.charge, order.card, order.amount, order.order_id)

        customer = ctx.state.load(Customer)
        customer.orders += 1
        customer.spent += receipt.amount
        ctx.state.save(customer)

        ctx.output({"order": order.order_id, "receipt": receipt.number}, to=self.done)
        ctx.logger.info("paid", order=order.order_id, spent=customer.spent, until=ctx.deadline)
        if customer.orders == 10:
            ctx.send(Event(type="loyal-customer", attributes={"orders": customer.orders}))

    @action("loyal-customer", steps=True)
    def greet(self, ctx: Context) -> None:
        """A sync handler runs in a thread; its steps wait there."""
        discount: int = ctx.step_sync("discount", random.randint, 5, 15)
        ctx.output({"customer": _text(ctx.record_key), "discount": discount})


def _text(key: bytes | None) -> Any:
    return key.decode() if key is not None else None
