"""Tools of real MCP servers, by stdio and by streamable HTTP: what models are shown, and what a dead server does."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from parkway.agents import Agent, AgentError, ChatModel, MCPServer, Retry, build_plan, tool
from parkway.schemas.events import ChatRequestEvent, FunctionCall, ToolCall, ToolRequestEvent, ToolResponseEvent
from parkway.schemas.messages import ChatMessage
from parkway.workers.actions.chat import ChatAction
from parkway.workers.actions.mcp_tools import McpSource
from parkway.workers.actions.tool import ToolAction
from parkway.workers.effects import Effects, Task

PROGRAM = str(Path(__file__).with_name("mcp_program.py"))
SILENT = str(Path(__file__).with_name("mcp_silent.py"))
Start = Callable[..., McpSource]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def http_server(port: int, calls: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Until it is killed, or the test is over."""
    process = subprocess.Popen([sys.executable, PROGRAM, str(port)], env={**os.environ, "TEST_CALLS": str(calls)})
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=1)
                break
            except (urllib.error.URLError, OSError):
                assert time.monotonic() < deadline, "the server does not come up"
                assert process.poll() is None
                time.sleep(0.05)
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    return tmp_path / "calls"


@pytest.fixture
async def stdio(calls: Path) -> AsyncIterator[Start]:
    made: list[McpSource] = []

    def start(**options: Any) -> McpSource:
        env = {"TEST_CALLS": str(calls), "TOKEN": "s3cret"}
        made.append(McpSource(MCPServer.stdio(sys.executable, [PROGRAM], env=lambda: env, **options)))
        return made[-1]

    yield start
    for source in made:
        await source.close()


@pytest.fixture(params=["stdio", "http"])
async def source(request: Any, calls: Path, stdio: Start) -> AsyncIterator[McpSource]:
    if request.param == "stdio":
        yield stdio(connect_timeout=30)
        return
    port = free_port()
    with http_server(port, calls):
        one = McpSource(MCPServer.http(f"http://127.0.0.1:{port}/mcp", connect_timeout=30))
        yield one
        await one.close()


def call(tool_name: str, call_id: str = "c", **arguments: Any) -> ToolCall:
    return ToolCall(id=call_id, function=FunctionCall(name=tool_name, arguments=arguments))


def request(*calls: ToolCall, seconds: float = 60.0) -> Task:
    event = ToolRequestEvent(model="m", tool_calls=list(calls), id="t")
    return Task(event.to_dict(), int((time.time() + seconds) * 1000))


def response_of(effects: Effects) -> ToolResponseEvent:
    assert isinstance(effects.response, ToolResponseEvent)
    return effects.response


async def ask(source: McpSource, *calls: ToolCall) -> ToolResponseEvent:
    return response_of(await ToolAction({}, sources=[source]).handle(request(*calls)))


def noted(calls: Path) -> list[str]:
    return calls.read_text().splitlines() if calls.exists() else []


async def test_results_and_failures_are_what_other_tools_give(source: McpSource) -> None:
    response = await ask(
        source,
        call("add", "a", first=1, second=2),
        call("describe", "b", name="x"),
        call("refuse", "c", what="flying"),
        call("add", "d", first="one", second=2),
        call("nothing", "e"),
    )
    assert response.responses["a"] == 3
    assert response.responses["b"]["name"] == "x"
    assert (
        response.responses["c"] == "Tool `refuse` execute failed. Error executing tool refuse: flying is not possible"
    )
    assert response.responses["d"].startswith("Tool `add` execute failed. ")
    assert "valid integer" in response.responses["d"]
    assert response.responses["e"] == "Tool `nothing` does not exist."
    assert response.success == {"a": True, "b": True, "c": False, "d": False, "e": False}
    assert response.error["c"] == "Error executing tool refuse: flying is not possible"


async def test_a_server_that_dies_in_a_call_fails_it_and_is_there_again_for_the_next(
    source: McpSource, calls: Path
) -> None:
    await source.tools()
    began = time.monotonic()
    response = await ask(source, call("die", "a"), call("wait", "b", seconds=30))
    assert response.success == {"a": False, "b": False}
    assert response.responses["a"] == "Tool `die` execute failed."
    assert "went away" in response.error["a"]
    assert time.monotonic() - began < 15
    assert noted(calls) == ["die"], "it may have had its effect, so it is not sent twice"
    url = getattr(source._server.transport, "url", None)
    if url is None:
        assert (await ask(source, call("add", first=1, second=2))).responses == {"c": 3}
        return
    port = int(url.split(":")[2].partition("/")[0])
    down = await ask(source, call("add", first=1, second=2))
    assert down.responses == {"c": "Tool `add` execute failed."}
    assert "cannot be reached: ConnectError" in down.error["c"]
    with http_server(port, calls):
        async with asyncio.timeout(60):  # a server that is down is not asked more often than once a second
            while not (response := await ask(source, call("add", first=1, second=2))).success["c"]:  # noqa: ASYNC110  a test's wait
                await asyncio.sleep(0.05)
        assert response.responses == {"c": 3}


async def test_a_server_that_was_killed_while_nobody_asked_fails_no_call(calls: Path) -> None:
    port = free_port()
    source = McpSource(MCPServer.http(f"http://127.0.0.1:{port}/mcp", connect_timeout=30))
    with http_server(port, calls) as process:
        assert (await ask(source, call("add", first=1, second=2))).responses == {"c": 3}
        process.send_signal(signal.SIGKILL)
        process.wait()
    with http_server(port, calls):
        assert (await ask(source, call("add", first=2, second=2))).responses == {"c": 4}
    await source.close()


async def test_a_stdio_server_that_was_killed_while_nobody_asked_fails_no_call(stdio: Start, calls: Path) -> None:
    source = stdio(connect_timeout=30)
    await ask(source, call("die"))
    for _ in range(2):
        assert (await ask(source, call("add", first=1, second=2))).responses == {"c": 3}
    assert noted(calls) == ["die", "add", "add"]


async def test_what_the_server_calls_idempotent_is_sent_again_and_names_are_made_fit(stdio: Start, calls: Path) -> None:
    source = stdio(connect_timeout=30, prefix="tests", tools=["die.once", "add"], requires_approval=["add"])
    tools = await source.tools()
    assert sorted(tools) == ["tests_add", "tests_die_once"]
    assert tools["tests_add"].parameters["required"] == ["first", "second"]
    assert tools["tests_add"].description == "Adds two numbers."
    assert tools["tests_add"].approval.may_ask
    assert not tools["tests_die_once"].approval.may_ask
    assert (await ask(source, call("tests_die_once"))).responses == {"c": "alive"}
    assert noted(calls) == ["die", "die"]
    waits = await ToolAction({}, sources=[source]).handle(request(call("tests_add", first=1, second=2)))
    assert waits.park is not None
    assert [asked.call.function.name for asked in waits.park.asks] == ["tests_add"]
    assert noted(calls) == ["die", "die"]


async def test_a_call_has_its_time_and_ends_with_its_chat(stdio: Start) -> None:
    source = stdio(connect_timeout=30, timeout=0.3)
    response = await ask(source, call("wait", seconds=20))
    assert response.error == {"c": "timed out after 0.3 s"}
    running = asyncio.create_task(ask(source, call("wait", seconds=20)))
    await asyncio.sleep(0.1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (await ask(source, call("add", first=1, second=2))).responses == {"c": 3}, "the server goes on"


async def test_a_stdio_server_sees_its_env_and_not_the_workers(stdio: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_SECRET", "of the worker")
    response = await ask(stdio(connect_timeout=30), call("describe", name="x"))
    assert response.responses["c"] == {"name": "x", "token": "s3cret", "home": "hidden"}


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        (MCPServer.stdio("/no/such/program"), "FileNotFoundError"),
        (MCPServer.stdio(sys.executable, ["-c", "pass"]), "cannot be reached"),
        (
            MCPServer.stdio(sys.executable, ["-c", "import time; time.sleep(60)"], connect_timeout=0.5),
            "no answer within 0.5 s",
        ),
        (
            MCPServer.http("http://127.0.0.1:1/mcp", headers=lambda: {}["missing"]),
            "its headers function raised KeyError",
        ),
        (MCPServer.http("http://127.0.0.1:1/mcp"), "ConnectError"),
    ],
)
async def test_a_server_that_is_not_there_fails_calls_and_chats_with_the_reason(server: MCPServer, reason: str) -> None:
    source = McpSource(server)
    response = await ask(source, call("add", first=1, second=2))
    assert response.responses == {"c": "Tool `add` execute failed."}
    assert reason in response.error["c"]
    assistant = ChatModel(lambda: FunctionModel(adds), tools=[server], max_retries=1)
    chat = ChatAction({"assistant": assistant}, sources={server: source}, backoff=Retry(backoff=0.01))
    effects = await chat.handle(chat_request())
    assert effects.response is not None
    error = effects.response.attributes["error"]
    assert error["type"] == "provider_error"
    assert error["message"].startswith("the tools of 'assistant' are not there: MCP server ")
    assert reason in error["message"]
    await source.close()


def times_asked(calls: Path) -> int:
    return len(calls.read_text().splitlines())


async def test_those_who_wait_for_a_server_that_says_nothing_wait_together(calls: Path) -> None:
    source = McpSource(MCPServer.stdio(sys.executable, [SILENT, str(calls)], connect_timeout=5))
    async with asyncio.timeout(60):  # one after the other they take three minutes
        responses = await asyncio.gather(*(ask(source, call("add", first=1, second=2)) for _ in range(30)))
    assert {response.error["c"] for response in responses} == {
        f"MCP server {sys.executable!r} does not say what tools it has"
    }
    assert times_asked(calls) == 1
    await ask(source, call("add", first=1, second=2))
    assert times_asked(calls) == 2, "who comes later asks anew"
    await source.close()


@pytest.mark.parametrize("value", ["Bearer s3cret\n", "Bearer s3cr\u00e9t", 5])
async def test_a_header_that_cannot_be_sent_is_named_and_not_quoted(value: Any, calls: Path) -> None:
    port = free_port()
    with http_server(port, calls):
        given = {"Authorization": value}
        source = McpSource(MCPServer.http(f"http://127.0.0.1:{port}/mcp", headers=lambda: given))
        response = await ask(source, call("add", first=1, second=2))
    assert "header 'Authorization' is no printable ASCII text" in response.error["c"]
    assert "s3cr" not in response.error["c"]
    await source.close()


async def test_what_may_be_secret_in_a_url_is_not_said() -> None:
    source = McpSource(MCPServer.http("http://me:s3cret@127.0.0.1:1/mcp?key=s3cret"))
    response = await ask(source, call("add", first=1, second=2))
    assert response.error["c"].startswith("MCP server 'http://127.0.0.1:1/mcp' cannot be reached: ConnectError")
    await source.close()


def chat_request() -> Task:
    event = ChatRequestEvent(model="assistant", messages=[ChatMessage.user("1 + 2")])
    return Task(event.to_dict(), int((time.time() + 60) * 1000))


@tool
def double(number: int) -> int:
    """Doubles."""
    return 2 * number


async def adds(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Asks for both of its tools."""
    assert {one.name for one in info.function_tools} >= {"double", "add"}
    if any(isinstance(part, ToolReturnPart) for message in messages for part in message.parts):
        return ModelResponse(parts=[TextPart("done")])
    return ModelResponse(parts=[ToolCallPart("add", {"first": 1, "second": 2}), ToolCallPart("double", {"number": 1})])


async def test_a_chat_model_is_told_of_the_servers_tools_beside_its_functions(stdio: Start) -> None:
    source = stdio(connect_timeout=30, requires_approval=lambda args: args["first"] == 1)
    assistant = ChatModel(lambda: FunctionModel(adds), tools=[double, source._server])
    chat = ChatAction({"assistant": assistant}, sources={source._server: source})
    effects = await chat.handle(chat_request())
    assert effects.park is not None, effects.response
    assert effects.park.awaits_person
    (asked,) = effects.events
    assert [one["function"]["name"] for one in asked.attributes["tool_calls"]] == ["add", "double"]


def test_a_plan_needs_no_server_and_no_secret() -> None:
    def headers() -> dict[str, str]:
        raise AssertionError("opened")

    class Careful(Agent):
        github = MCPServer.http(
            "https://example.com/mcp", headers=headers, requires_approval={"merge": "it is for good"}
        )
        assistant = ChatModel("openai:gpt-5-mini", tools=[github])

    plan = build_plan(Careful, "m:Careful")
    planned = plan.action("tool")
    assert planned is not None
    assert planned.resumed_by == ("_cancel_request_event", "_approval_response_event")
    assert Careful.github.name == "github"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MCPServer.stdio("uvx", "mcp-server-git --verbose"), r"such as \['mcp-server-git', '--verbose'\]"),
        (lambda: MCPServer.stdio(" "), "the program to start"),
        (lambda: MCPServer.http("example.com/mcp"), "a URL, such as"),
        (lambda: MCPServer.stdio("uvx", prefix="a-b"), "prefix='a-b'"),
        (lambda: MCPServer.stdio("uvx", tools="one"), r"such as \['one'\]"),
        (lambda: MCPServer.stdio("uvx", timeout=0), "timeout=0"),
        (lambda: MCPServer.stdio("uvx", max_result_bytes=0), "max_result_bytes=0"),
        (lambda: MCPServer.stdio("uvx", approval_timeout=5), "without requires_approval"),
    ],
)
def test_what_cannot_be_meant_is_refused(make: Callable[[], MCPServer], message: str) -> None:
    with pytest.raises(AgentError, match=message):
        make()


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(AgentError, match=r"pip install 'parkway\[mcp\]'"):
        McpSource(MCPServer.stdio("uvx"))
