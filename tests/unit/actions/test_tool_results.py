"""What a tool gives back becomes JSON: its form, its depth, its size."""

import json
import uuid
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel
from tool_calls import action, call, new, response_of

from parkway.agents import tool


class Customer(BaseModel):
    name: str
    since: datetime


async def test_results_take_the_json_form_of_events() -> None:
    since = datetime(2026, 1, 2, tzinfo=UTC)
    key = uuid.uuid4()

    @tool
    def customer() -> Any:
        """Gives a customer."""
        return {"customer": Customer(name="Ada", since=since), "pair": (1, 2.5), "key": key, "none": None}

    response = response_of(await action(customer).handle(new(call("customer"))))
    assert json.loads(response.to_json())["attributes"]["responses"]["c1"] == {
        "customer": {"name": "Ada", "since": "2026-01-02T00:00:00Z"},
        "pair": [1, 2.5],
        "key": str(key),
        "none": None,
    }


async def test_a_result_without_json_form_or_nested_too_deep_is_a_failed_call() -> None:
    deep: list[Any] = []
    for _ in range(98):
        deep = [deep]

    @tool
    def strange() -> Any:
        """Gives what no event can carry."""
        return {"a": [object()]}

    @tool
    def nested() -> Any:
        """Gives a deep list."""
        return deep

    response = response_of(await action(strange, nested).handle(new(call("strange", "a"), call("nested", "b"))))
    assert response.responses["a"] == "Tool `strange` execute failed."
    assert "result.a[0]" in response.error["a"]
    assert response.success == {"a": False, "b": False}
    response.to_json()


async def test_a_result_over_the_limit_is_cut_with_a_note() -> None:
    @tool
    def long() -> str:
        """Gives a long text."""
        return "ä" * 600

    @tool
    def big() -> Any:
        """Gives a long list."""
        return list(range(1_000))

    small = action(long, big, max_result_bytes=1_001)
    response = response_of(await small.handle(new(call("long", "a"), call("big", "b"))))
    assert response.success == {"a": True, "b": True}
    assert response.responses["a"].startswith("ä" * 500 + "\n[cut: ")
    assert "1,200 bytes" in response.responses["a"]
    assert response.responses["b"].startswith("[0,1,2,")
