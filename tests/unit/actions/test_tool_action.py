"""The tool action: calls side by side, texts for the model, diagnostics for people, and user_context."""

import asyncio
import contextvars
import json
import threading
import time
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import BaseModel

from parkway.agents import Tool, tool
from parkway.schemas.events import FunctionCall, ToolCall, ToolRequestEvent, ToolResponseEvent
from parkway.workers.actions.tool import ToolAction
from parkway.workers.effects import Effects, Task


class Customer(BaseModel):
    name: str
    since: datetime


def call(name: str, call_id: str = "c1", **arguments: Any) -> ToolCall:
    return ToolCall(id=call_id, function=FunctionCall(name=name, arguments=arguments), original_id=f"p-{call_id}")


def new(*calls: ToolCall, seconds: float = 30, **attributes: Any) -> Task:
    request = ToolRequestEvent(model="assistant", tool_calls=list(calls), **attributes)
    return Task(request.to_dict(), int((time.time() + seconds) * 1000))


def action(*tools: Tool[..., Any], **options: Any) -> ToolAction:
    return ToolAction({each.name: each for each in tools}, **options)


def response_of(effects: Effects) -> ToolResponseEvent:
    assert isinstance(effects.response, ToolResponseEvent)
    assert effects.failure is None
    assert effects.park is None
    assert effects.events == []
    return effects.response


@tool
async def echo(text: str) -> str:
    """Says it again."""
    return text


@tool
def broken() -> str:
    """Never works."""
    raise KeyError("host=db password=x")


async def test_results_stand_under_their_call_ids_with_the_providers_ids_beside() -> None:
    task = new(call("echo", "a", text="1"), call("echo", "b", text="2"))
    response = response_of(await action(echo).handle(task))
    assert response.request_id == task.event["id"]
    assert response.responses == {"a": "1", "b": "2"}
    assert response.success == {"a": True, "b": True}
    assert response.error == {}
    assert response.external_ids == {"a": "p-a", "b": "p-b"}


async def test_the_calls_of_one_request_run_at_once() -> None:
    both = asyncio.Barrier(2)
    threads = threading.Barrier(2, timeout=10)

    @tool(timeout=10)
    async def meet() -> str:
        """Waits for the other."""
        await both.wait()
        return "met"

    @tool(timeout=10)
    def meet_in_threads() -> str:
        """Waits for the other."""
        threads.wait()
        return "met"

    task = new(*(call(name, f"{name}{i}") for name in ("meet", "meet_in_threads") for i in (1, 2)))
    response = response_of(await action(meet, meet_in_threads).handle(task))
    assert set(response.responses.values()) == {"met"}


async def test_the_texts_of_unknown_and_failed_tools_and_the_diagnostic_beside() -> None:
    task = new(call("nope", "a"), call("broken", "b"), call("echo", "c", text="fine"))
    response = response_of(await action(echo, broken).handle(task))
    assert response.responses == {
        "a": "Tool `nope` does not exist.",
        "b": "Tool `broken` execute failed.",
        "c": "fine",
    }
    assert response.success == {"a": False, "b": False, "c": True}
    assert response.error == {"a": "Tool `nope` does not exist.", "b": "KeyError: 'host=db password=x'"}
    shown = response.results()
    assert shown["b"].error == "Tool `broken` execute failed."
    assert shown["b"].diagnostic == "KeyError: 'host=db password=x'"


async def test_arguments_that_do_not_fit_never_reach_the_tool_and_the_model_reads_why() -> None:
    ran = []

    @tool
    def count(n: int) -> int:
        """Counts."""
        ran.append(n)
        return n

    response = response_of(await action(count).handle(new(call("count", n="many"), call("count", "c2", n=2))))
    text = response.responses["c1"]
    assert text.startswith("Tool `count` execute failed. ")
    assert "n: " in text
    assert response.success == {"c1": False, "c2": True}
    assert ran == [2]


async def test_a_tool_out_of_time_fails_and_the_others_do_not() -> None:
    @tool(timeout=0.05)
    async def slow() -> str:
        """Takes for ever."""
        await asyncio.Event().wait()
        return ""

    release = threading.Event()

    @tool(timeout=0.05)
    def slow_in_thread() -> str:
        """Takes long."""
        release.wait(10)
        return ""

    task = new(call("slow", "a"), call("slow_in_thread", "b"), call("echo", "c", text="fine"))
    response = response_of(await action(slow, slow_in_thread, echo).handle(task))
    release.set()
    assert response.success == {"a": False, "b": False, "c": True}
    assert response.error == {"a": "timed out after 0.05 s", "b": "timed out after 0.05 s"}
    assert response.responses["a"] == "Tool `slow` execute failed."


async def test_no_tool_runs_longer_than_the_deadline() -> None:
    @tool(timeout=60)
    async def slow() -> str:
        """Takes for ever."""
        await asyncio.Event().wait()
        return ""

    started = time.monotonic()
    response = response_of(await action(slow).handle(new(call("slow"), seconds=0.1)))
    assert time.monotonic() - started < 5
    assert response.success == {"c1": False}


async def test_a_timeout_error_of_the_tool_itself_is_told_apart() -> None:
    @tool
    def asks() -> str:
        """Asks a server."""
        raise TimeoutError("the server is slow")

    response = response_of(await action(asks).handle(new(call("asks"))))
    assert response.error == {"c1": "TimeoutError: the server is slow"}


@pytest.mark.parametrize("error", [SystemExit(1), asyncio.CancelledError(), RecursionError(), StopIteration()])
@pytest.mark.parametrize("threaded", [True, False])
async def test_whatever_a_tool_raises_is_an_answer(error: BaseException, *, threaded: bool) -> None:
    def sync() -> str:
        """Fails."""
        raise error

    async def coroutine() -> str:
        """Fails."""
        raise error

    failing = Tool(sync if threaded else coroutine, name="failing")
    response = response_of(await action(failing, echo).handle(new(call("failing"), call("echo", "c2", text="x"))))
    assert response.responses == {"c1": "Tool `failing` execute failed.", "c2": "x"}


async def test_what_a_tool_raises_is_no_fault_of_the_other_calls() -> None:
    """A file name that is no Unicode stands in the text of an OSError with lone surrogates."""

    @tool
    def opens() -> str:
        """Opens a file."""
        raise FileNotFoundError("no file 'caf\udce9'")

    response = response_of(await action(opens, echo).handle(new(call("opens"), call("echo", "c2", text="x"))))
    assert response.success == {"c1": False, "c2": True}
    assert response.error == {"c1": "FileNotFoundError: no file 'caf?'"}


async def test_cancellation_sends_no_response() -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    @tool
    async def slow() -> str:
        """Takes for ever."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return ""

    running = asyncio.create_task(action(slow).handle(new(call("slow"))))
    await asyncio.wait_for(started.wait(), 10)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert cancelled.is_set()


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


async def test_the_idempotency_key_is_the_same_for_a_redelivered_call_and_no_other() -> None:
    keys: list[str] = []

    @tool(injected=["idempotency_key"])
    def pay(amount: int, idempotency_key: str) -> str:
        """Pays."""
        keys.append(idempotency_key)
        return "paid"

    assert list(pay.parameters["properties"]) == ["amount"]
    runner = action(pay)
    first, other = new(call("pay", "a", amount=1, idempotency_key="forged")), new(call("pay", "a", amount=1))
    for task in (first, first, other, new(call("pay", "b", amount=1))):
        assert response_of(await runner.handle(task)).success.popitem()[1] is True
    assert keys[0] == keys[1] == f"{first.event['id']}/a"
    assert len(set(keys)) == 3


async def test_context_variables_reach_sync_tools() -> None:
    trace: contextvars.ContextVar[str] = contextvars.ContextVar("trace")

    @tool
    def read() -> str:
        """Reads."""
        return trace.get()

    trace.set("t1")
    assert response_of(await action(read).handle(new(call("read")))).responses == {"c1": "t1"}


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"model": "m", "tool_calls": 7},
        {"model": "m", "tool_calls": [{"id": "a"}]},
        {"model": "m", "tool_calls": [], "x": 1},
    ],
)
async def test_bad_attributes_are_a_failure_because_no_response_can_name_their_calls(attributes: Any) -> None:
    task = Task({"id": "r", "type": "_tool_request_event", "attributes": attributes}, 2**53)
    for effects in (
        await action(echo).handle(task),
        action().expired(task),
        action().failed(task, OSError()),
    ):
        assert effects.response is None
        assert effects.failure is not None
        assert effects.failure.reason == "bad_request"


async def test_one_call_id_for_two_calls_is_refused_before_anything_runs() -> None:
    effects = await action(echo).handle(new(call("echo", "a", text="1"), call("echo", "a", text="2")))
    assert effects.failure is not None
    assert "'a'" in effects.failure.message


async def test_a_request_without_calls_is_answered() -> None:
    assert response_of(await action(echo).handle(new())).responses == {}


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


async def test_an_expired_request_answers_every_call() -> None:
    response = response_of(action(echo).expired(new(call("echo", "a", text="x"), call("nope", "b"), seconds=-1)))
    assert response.responses == {"a": "Tool `echo` execute failed.", "b": "Tool `nope` execute failed."}
    assert response.success == {"a": False, "b": False}
