"""What a tool request's user_context may expect (DESIGN 4.2), by the numbers of the contract."""

import asyncio
from typing import Any

import pytest
from tool_calls import action, broken, call, echo, new, response_of

from parkway.agents import tool

# DESIGN 4.2, by its numbers.


async def test_contract_1_unset_user_context_leaves_no_key() -> None:
    response = response_of(await action(echo).handle(new(call("echo", text="x"))))
    assert "user_context" not in response.to_dict()["attributes"]


@pytest.mark.parametrize("context", [{"a": [1, {"b": None}]}, {}])
async def test_contracts_2_and_3_success_failure_and_expiry_carry_the_same_user_context(context: Any) -> None:
    task = new(call("echo", text="x"), call("broken", "b"), user_context=context)
    runner = action(echo, broken)
    for effects in (await runner.handle(task), runner.expired(task), runner.failed(task, OSError("x"))):
        assert response_of(effects).to_dict()["attributes"]["user_context"] == context


async def test_contract_4_concurrent_requests_never_exchange_user_context() -> None:
    turns = {f"n{i}": asyncio.Event() for i in range(10)}

    @tool
    async def wait(who: str) -> str:
        """Waits for its turn."""
        await turns[who].wait()
        return who

    runner = action(wait)
    tasks = {name: new(call("wait", who=name), user_context={"me": name}) for name in turns}
    running = {name: asyncio.create_task(runner.handle(task)) for name, task in tasks.items()}
    for name in reversed(turns):
        turns[name].set()
        response = response_of(await running[name])
        assert (response.request_id, response.user_context) == (tasks[name].event["id"], {"me": name})
        assert response.responses == {"c1": name}


async def test_contract_6_user_context_never_reaches_the_arguments() -> None:
    seen: list[Any] = []

    @tool
    def show(text: str = "") -> str:
        """Shows."""
        seen.append(text)
        return text

    await action(show).handle(new(call("show"), user_context={"text": "s3cret"}))
    assert seen == [""]


async def test_contract_11_a_later_change_of_the_callers_object_changes_nothing() -> None:
    context = {"list": [1]}
    task = new(call("echo", text="x"), user_context=context)
    context["list"].append(2)
    response = response_of(await action(echo).handle(task))
    task.event["attributes"]["user_context"]["list"].append(3)
    assert response.user_context == {"list": [1]}
