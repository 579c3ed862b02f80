import asyncio
import enum
import threading
from datetime import date

import pytest
from pydantic import BaseModel

from parkway.agents import AgentError, ToolArgumentsError, tool
from parkway.agents.tool import as_tool


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
    assert await book.call(arguments) == (date(2030, 1, 2), Mode.FAST, Address(street="S"), {"a"})
    with pytest.raises(ToolArgumentsError) as caught:
        await book.call({"day": "never", "mode": "fast", "address": {}, "colour": "red"})
    message = str(caught.value)
    assert message.startswith("Tool `book`: ")
    for place in ("day:", "address.street: Field required", "colour:"):
        assert place in message


async def test_injected_arguments_win_over_what_the_model_sent():
    @tool(injected=["tenant", "key"])
    def find(query: str, tenant: str, key: str = "none") -> str:
        return f"{tenant}/{key}/{query}"

    assert await find.call({"query": "q", "tenant": "forged", "key": "forged"}, {"tenant": "t", "x": 1}) == "t/none/q"
    with pytest.raises(ToolArgumentsError, match="nothing is there to inject as 'tenant'"):
        await find.call({"query": "q", "tenant": "forged"}, {})


async def test_sync_tools_run_in_threads_side_by_side():
    barrier = threading.Barrier(20, timeout=10)

    @tool
    def meet(n: int) -> str:
        barrier.wait()  # passes only when 20 threads are here
        return threading.current_thread().name

    names = await asyncio.gather(*(meet.call({"n": n}) for n in range(20)))
    assert len(set(names)) == 20
    assert threading.current_thread().name not in names


async def test_stop_iteration_in_a_sync_tool_is_an_error_and_not_a_hang():
    @tool
    def first(n: int) -> int:
        return next(iter([]))

    with pytest.raises(RuntimeError, match="raised StopIteration"):
        await asyncio.wait_for(first.call({"n": 1}), 10)


async def test_a_sync_function_that_returns_a_coroutine_is_awaited():
    async def inner() -> str:
        return "done"

    @tool
    def outer() -> object:
        return inner()

    assert await outer.call({}) == "done"


def _method(self, a: int) -> None: ...
def _star(*args: int) -> None: ...
def _unresolved(a: "Missing") -> None: ...  # noqa: F821
def _no_schema(a: threading.Thread) -> None: ...
def _fine(a: int) -> None: ...


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tool(_method), "takes 'self': a tool is a function"),
        (lambda: tool(_star), "use parameters with names"),
        (lambda: tool(_unresolved), "'Missing' is not defined"),
        (lambda: tool(_no_schema), "no JSON schema for its parameters"),
        (lambda: tool(name="two words")(_fine), "tool name 'two words'"),
        (lambda: tool(timeout=0)(_fine), "timeout=0"),
        (lambda: tool(injected=["b"])(_fine), r"injected='b' is none of its parameters \(a\)"),
        (lambda: tool(injected="a")(_fine), r"such as \['a'\]"),
        (lambda: tool(lambda a: a), "tool name '<lambda>'"),
        (lambda: tool(Address), "a tool is a function"),
        (lambda: as_tool("lookup"), "a function or what @tool made of one"),
    ],
)
def test_what_cannot_be_a_tool_is_refused(make, message):
    with pytest.raises(AgentError, match=message):
        make()
