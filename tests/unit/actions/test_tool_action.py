"""The tool action: calls side by side, texts for the model, diagnostics for people."""

import asyncio
import contextvars
import threading
import time
from typing import Any

import pytest
from tool_calls import action, broken, call, echo, new, response_of

from parkway.agents import Tool, tool
from parkway.workers.effects import Task


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


async def test_an_expired_request_answers_every_call() -> None:
    response = response_of(action(echo).expired(new(call("echo", "a", text="x"), call("nope", "b"), seconds=-1)))
    assert response.responses == {"a": "Tool `echo` execute failed.", "b": "Tool `nope` execute failed."}
    assert response.success == {"a": False, "b": False}
