"""The agent in memory, through every point where a process could die: `pytest examples/orders`."""

import json
from pathlib import Path
from typing import Any

import pytest
from examples.orders.agent import Orders

from parkway.testing import AgentTest, run_scenario

ORDERS = [json.loads(line) for line in Path(__file__).with_name("orders.jsonl").read_text().splitlines()]


def order(number: int, attributes: dict[str, Any]) -> dict[str, Any]:
    return {"type": "order", "id": f"e-{number}", "attributes": attributes}


async def test_orders_are_paid_and_told_to_the_shop() -> None:
    async with AgentTest(Orders) as test:
        for number, one in enumerate(ORDERS):
            await test.send(order(number, one), key=one["customer"])
        await test.run()
        done = [test.value_of(record) for record in test.records("shop.orders.done")]
        assert sorted(one["order"] for one in done) == ["o-1", "o-2", "o-3"]
        assert test.state["pay/ada"] == {"orders": 2, "spent": 42.5}
        assert test.dlq == []


async def test_the_tenth_order_is_greeted_once_whatever_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.randint", lambda low, _high: low)  # outcomes are compared

    async def scenario(test: AgentTest) -> None:
        for number in range(10):
            await test.send(order(number, ORDERS[0]), key="ada")
        await test.run()
        assert [one["customer"] for one in test.outputs] == ["ada"]

    survived = await run_scenario(Orders, scenario, crash="every-commit")
    assert survived.deaths


async def test_an_order_without_a_key_is_a_dead_letter() -> None:
    async with AgentTest(Orders) as test:
        await test.send(order(1, ORDERS[0]))
        await test.run()
        (dead,) = test.dlq
        assert dead.reason == "action_failed"
