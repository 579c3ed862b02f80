import asyncio
import enum
import threading
from datetime import UTC, date, datetime
from typing import Any

import pytest
from pydantic import BaseModel

from parkway.agents import AgentError, ToolArgumentsError, ToolContext, tool
from parkway.agents.tool import as_tool


def context(**changes: Any) -> ToolContext:
    known: dict[str, Any] = {
        "tool": "t",
        "request_id": "r",
        "call_id": "c",
        "idempotency_key": "r/c",
        "deadline": datetime(2030, 1, 1, tzinfo=UTC),
    }
    return ToolContext(**{**known, **changes})


@tool
def add(first: int, second: int = 2) -> int:
    """Add two numbers.

    Args:
        first: The first one.
        second: The other one.
    """
    return first + second


class Mode(enum.Enum):
    FAST = "fast"


class Address(BaseModel):
    street: str


def test_schema_from_signature_and_google_docstring():
    assert (add.name, add.description) == ("add", "Add two numbers.")
    assert add.parameters == {
        "type": "object",
        "properties": {
            "first": {"type": "integer", "description": "The first one."},
            "second": {"type": "integer", "description": "The other one.", "default": 2},
        },
        "required": ["first"],
        "additionalProperties": False,
    }


def test_numpy_and_plain_docstrings():
    @tool
    def numpy(a: str) -> None:
        """Say something.

        Parameters
        ----------
        a : str
            What to say.
        """

    @tool
    def plain(a: str) -> None:
        """Just one line."""

    @tool
    def silent(a: str) -> None:
        pass

    assert numpy.description == "Say something."
    assert numpy.parameters["properties"]["a"]["description"] == "What to say."
    assert plain.description == "Just one line."
    assert "description" not in plain.parameters["properties"]["a"]
    assert silent.description == ""


def test_a_tool_can_be_called_like_its_function():
    assert add(1, second=4) == 5


def test_with_arguments():
    @tool(name="find-it", description="Finds it.", timeout=5, injected=["tenant"])
    async def find(query: str, tenant: str) -> str:
        """Not this text."""
        return f"{tenant}: {query}"

    assert (find.name, find.description, find.timeout) == ("find-it", "Finds it.", 5)
    assert list(find.parameters["properties"]) == ["query"]


async def test_call_validates_and_converts():
    @tool
    async def book(day: date, mode: Mode, address: Address, tags: set[str] | None = None) -> object:
        return day, mode, address, tags

    arguments = {"day": "2030-01-02", "mode": "fast", "address": {"street": "S"}, "tags": ["a", "a"]}
    assert await book.call(arguments, context()) == (date(2030, 1, 2), Mode.FAST, Address(street="S"), {"a"})
    with pytest.raises(ToolArgumentsError) as caught:
        await book.call({"day": "never", "mode": "fast", "address": {}, "colour": "red"}, context())
    message = str(caught.value)
    assert message.startswith("Tool `book`: ")
    for place in ("day:", "address.street: Field required", "colour:"):
        assert place in message


async def test_injected_arguments_win_over_what_the_model_sent():
    @tool(injected=["tenant", "subject"], inject={"db": "the database"})
    def find(query: str, tenant: str, db: str, subject: str = "none") -> str:
        return f"{tenant}/{subject}/{db}/{query}"

    assert list(find.parameters["properties"]) == ["query"]
    forged = {"query": "q", "tenant": "forged", "subject": "forged", "db": "forged"}
    assert await find.call(forged, context(tenant="t")) == "t/none/the database/q"
    with pytest.raises(ToolArgumentsError, match="nothing is there to inject as 'tenant'"):
        await find.call({"query": "q", "tenant": "forged"}, context())


async def test_a_parameter_annotated_tool_context_is_the_call_as_the_framework_knows_it():
    @tool
    async def find(query: str, ctx: ToolContext) -> ToolContext:
        return ctx

    here = context(subject="ann")
    assert list(find.parameters["properties"]) == ["query"]
    assert await find.call({"query": "q", "ctx": {"tenant": "forged"}}, here) is here


@pytest.mark.parametrize(
    ("condition", "arguments", "reason"),
    [
        (False, {"amount": 1}, None),
        (True, {"amount": 1}, ""),
        ("money leaves", {"amount": 1}, "money leaves"),
        (lambda args: args["amount"] > 100, {"amount": 100}, None),
        (lambda args: args["amount"] > 100, {"amount": 101}, ""),
        (lambda args: "much" if args["amount"] > 100 else False, {"amount": 101}, "much"),
        (lambda args: args["missing"], {"amount": 1}, "requires_approval raised KeyError"),
    ],
)
def test_which_calls_a_person_must_allow(condition, arguments, reason):
    @tool(requires_approval=condition)
    def pay(amount: int) -> None: ...

    assert pay.approval.reason(pay.check(arguments)) == reason
    assert pay.approval.may_ask == (condition is not False)


async def test_sync_tools_run_in_threads_side_by_side():
    barrier = threading.Barrier(20, timeout=10)

    @tool
    def meet(n: int) -> str:
        barrier.wait()  # passes only when 20 threads are here
        return threading.current_thread().name

    names = await asyncio.gather(*(meet.call({"n": n}, context()) for n in range(20)))
    assert len(set(names)) == 20
    assert threading.current_thread().name not in names


async def test_stop_iteration_in_a_sync_tool_is_an_error_and_not_a_hang():
    @tool
    def first(n: int) -> int:
        return next(iter([]))

    with pytest.raises(RuntimeError, match="raised StopIteration"):
        await asyncio.wait_for(first.call({"n": 1}, context()), 10)


async def test_a_sync_function_that_returns_a_coroutine_is_awaited():
    async def inner() -> str:
        return "done"

    @tool
    def outer() -> object:
        return inner()

    assert await outer.call({}, context()) == "done"


def _method(self, a: int) -> None: ...
def _star(*args: int) -> None: ...
def _unresolved(a: "Missing") -> None: ...  # noqa: F821
def _no_schema(a: threading.Thread) -> None: ...
def _fine(a: int) -> None: ...
async def _later(args: Any) -> bool: ...


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tool(_method), "takes 'self': a tool is a function"),
        (lambda: tool(_star), "use parameters with names"),
        (lambda: tool(_unresolved), "'Missing' is not defined"),
        (lambda: tool(_no_schema), "no JSON schema for its parameters"),
        (lambda: tool(name="two words")(_fine), "tool name 'two words'"),
        (lambda: tool(timeout=0)(_fine), "timeout=0"),
        (lambda: tool(injected=["b"])(_fine), r"injected='b': nothing is called so"),
        (lambda: tool(injected=["tennant"])(_fine), r"did you mean tenant\?"),
        (lambda: tool(injected=["tenant"])(_fine), r"injected 'tenant' is none of its parameters \(a\)"),
        (lambda: tool(inject={"b": 1})(_fine), r"injected 'b' is none of its parameters \(a\)"),
        (lambda: tool(max_result_bytes=0)(_fine), "max_result_bytes=0"),
        (lambda: tool(requires_approval=7)(_fine), "requires_approval=7: True, False, a text"),
        (lambda: tool(requires_approval=_later)(_fine), "not async"),
        (lambda: tool(approval_timeout=5)(_fine), "approval_timeout=5 without requires_approval"),
        (lambda: tool(approval_timeout=0, requires_approval=True)(_fine), "approval_timeout=0"),
        (lambda: tool(injected="a")(_fine), r"such as \['a'\]"),
        (lambda: tool(lambda a: a), "tool name '<lambda>'"),
        (lambda: tool(Address), "a tool is a function"),
        (lambda: as_tool("lookup"), "a function, what @tool made of one, or an MCPServer"),
    ],
)
def test_what_cannot_be_a_tool_is_refused(make, message):
    with pytest.raises(AgentError, match=message):
        make()
