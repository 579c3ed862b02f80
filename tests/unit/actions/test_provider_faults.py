"""What each provider can do wrong, through its real client, against the tables of docs/agents/chat.md."""

import re
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from chats import failure_of, response_of
from provider_server import HANG, PROVIDERS, Answer, Anthropic, Call, OpenAIChat, OpenAIResponses, Provider, answer

from parkway.agents import ChatMessage, ChatModel, ChatRequestEvent, Retry, tool
from parkway.workers.actions.chat import ChatAction
from parkway.workers.effects import Effects, Task

DOCS: Final = Path(__file__).parents[3] / "docs/agents/chat.md"
NOTHING_LISTENS: Final = Answer(599)

Api = OpenAIChat | Anthropic


class Outcome(NamedTuple):
    """How a request ends when a provider does this for ever: the error, and whether it or its fallback was asked."""

    error: str
    retried: bool
    fallback: bool


def raw(body: bytes, kind: str = "application/json") -> Answer:
    return Answer(headers={"content-type": kind}, body=body)


FAULTS: Final[dict[str, Callable[[Any], list[Answer]]]] = {
    "429": lambda api: [api.error(429)],
    "429 with a `Retry-After` beyond 30 seconds": lambda api: [api.error(429, retry_after="3600")],
    "quota or credit used up (OpenAI: 429, Anthropic: 400)": lambda api: [api.quota()],
    "500, 502, 503": lambda api: [api.error(500), api.error(502), api.error(503)],
    "529, overloaded": lambda api: [api.error(529)],
    "408, 409, 425": lambda api: [api.error(408), api.error(409), api.error(425)],
    "400, 413, 422": lambda api: [api.error(400), api.error(413), api.error(422)],
    "401, 403 (wrong key)": lambda api: [api.error(401), api.error(403)],
    "404 (no such model)": lambda api: [api.error(404)],
    "the conversation is too long for the model": lambda api: [api.context_too_long()],
    "the model refuses": lambda api: [api.refusal()],
    "the provider's content filter": lambda api: [api.filtered()],
    "no answer within `timeout`": lambda _: [HANG],
    "nobody listens": lambda _: [NOTHING_LISTENS],
    "the connection is cut in the middle of the body": lambda api: [replace(api.reply("hi"), cut=True)],
    "a body that is no JSON: empty, half, a proxy's HTML": lambda _: [
        raw(b""),
        raw(b'{"id": "c", "obj'),
        raw(b"<html>Bad gateway</html>", "text/html"),
    ],
    "JSON of another shape": lambda _: [raw(b"null"), answer({"hello": 1}), answer([1])],
    "an empty reply": lambda api: [api.reply(None), api.reply("")],
    "an empty reply, as `max_tokens` was used up before it": lambda api: [api.used_up()],
}
STREAMED: Final[dict[str, Any]] = {"settings": {"max_tokens": 64_000, "timeout": None}}
FAULTS_OF_ONE: Final[dict[str, tuple[Any, Callable[[Any], Answer], dict[str, Any]]]] = {
    "OpenAI responses: a reply that says it failed": (
        OpenAIResponses(),
        lambda api: api.reply(None, status="failed", error={"code": "server_error", "message": "it said: secret"}),
        {},
    ),
    "Anthropic: no room for an answer in the context window": (
        Anthropic(),
        lambda api: api.reply(None, stop_reason="model_context_window_exceeded"),
        {},
    ),
    "in a stream: an error event (overloaded)": (
        Anthropic(),
        lambda api: api.stream("hi", fault="overloaded_error"),
        STREAMED,
    ),
    "in a stream: an error event (rate limit)": (
        Anthropic(),
        lambda api: api.stream("hi", fault="rate_limit_error"),
        STREAMED,
    ),
    "in a stream: cut in the middle": (Anthropic(), lambda api: replace(api.stream("hi"), cut=True), STREAMED),
    "in a stream: it ends before its last events": (Anthropic(), lambda api: api.stream("hi", ends=False), STREAMED),
}


def table(heading: str) -> dict[str, list[str]]:
    """The rows below a heading of the page: first cell -> the others, without what only formats."""
    text = DOCS.read_text(encoding="utf-8").split(f"### {heading}\n", 1)[1]
    rows = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert rows is not None
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in rows[0].splitlines()]
    return {row[0]: row[1:] for row in cells[2:]}


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    running = Provider()
    use(monkeypatch, running.origin)
    yield running
    running.stop()


def use(monkeypatch: pytest.MonkeyPatch, origin: str) -> None:
    for name in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{name}_API_KEY", "sk-test-abcdef123456")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{origin}/v1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", origin)


@tool
def lookup(customer: str) -> str:
    """Looks a customer up."""
    return customer


def action(api: Api, **options: Any) -> ChatAction:
    options = {"max_retries": 1, "tools": [lookup], **options}
    return ChatAction({"assistant": ChatModel(api.model, **options)}, backoff=Retry(backoff=0.001, max_backoff=30))


def new() -> Task:
    request = ChatRequestEvent(model="assistant", messages=[ChatMessage.user("hello")], user_context={"a": 1})
    return Task(request.to_dict(), int((time.time() + 60) * 1000))


async def outcome(provider: Provider, api: Api, step: Answer, **options: Any) -> Outcome:
    """One retry and one fallback, and the fault for ever."""
    provider.script, provider.requests = [step], []
    effects = await action(api, fallbacks=[api.model.replace("test", "second")], **options).handle(new())
    response = response_of(effects)
    assert response.error is not None
    assert response.user_context == {"a": 1}
    assert "secret" not in response.error.message
    assert len(effects.journal) == response.error.attempts
    assert {entry.outcome for entry in effects.journal} == {"failed"}
    asked = [entry.error_type for entry in effects.journal]
    assert set(asked) == {response.error.type}
    # Who was asked: what arrived there; of calls that arrived nowhere, what the journal says.
    models = [str(request["model"]) for request in provider.requests] or [str(entry.model) for entry in effects.journal]
    assert len(models) == response.error.attempts
    return Outcome(
        response.error.type,
        sum("test" in name for name in models) == 2,
        any("second" in name for name in models),
    )


def written(row: list[str]) -> Outcome:
    error, retried, fallback = row
    return Outcome(error.strip("`"), {"yes": True, "no": False}[retried], {"yes": True, "no": False}[fallback])


def test_the_page_has_a_row_for_every_fault_and_no_other() -> None:
    assert list(table("Faults of a provider")) == [*FAULTS, *FAULTS_OF_ONE]
    assert list(table("Faults of tool calls")) == list(TOOL_FAULTS)


@pytest.mark.parametrize("api", PROVIDERS.values(), ids=PROVIDERS.keys())
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_ends_as_the_page_says(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, fault: str, api: Api
) -> None:
    steps = FAULTS[fault](api)
    with socket.socket() as bound:  # bound, but it does not listen
        if steps == [NOTHING_LISTENS]:
            bound.bind(("127.0.0.1", 0))
            use(monkeypatch, f"http://127.0.0.1:{bound.getsockname()[1]}")
        timeout = 0.3 if steps == [HANG] else 20.0
        for step in steps:
            assert await outcome(provider, api, step, timeout=timeout) == written(table("Faults of a provider")[fault])
    assert {request["path"] for request in provider.requests} <= {api.path}


@pytest.mark.parametrize("fault", FAULTS_OF_ONE)
async def test_a_fault_that_only_one_provider_has_ends_as_the_page_says(provider: Provider, fault: str) -> None:
    api, step, options = FAULTS_OF_ONE[fault]
    assert await outcome(provider, api, step(api), **options) == written(table("Faults of a provider")[fault])
    assert bool(provider.requests[0].get("stream")) is (options is STREAMED)


async def test_a_stream_that_ends_well_is_an_answer(provider: Provider) -> None:
    api = Anthropic()
    provider.script = [api.stream("hi")]
    effects = await action(api, **STREAMED).handle(new())
    assert response_of(effects).response.content == "hi"
    assert response_of(effects).response.extra_args["completionTokens"] == 2


def date_in(seconds: float) -> str:
    return formatdate(time.time() + seconds, usegmt=True)


@pytest.mark.parametrize("api", PROVIDERS.values(), ids=PROVIDERS.keys())
async def test_a_date_in_retry_after_is_waited_for(provider: Provider, api: Api) -> None:
    provider.script = [api.error(429, retry_after=date_in(3)), api.reply("hi")]
    response = response_of(await action(api).handle(new()))
    assert response.success
    assert response.total_retry_wait_sec >= 1  # a date has whole seconds, and the request took a part of them
    assert provider.times[1] - provider.times[0] >= 1
    assert {request["retries"] for request in provider.requests} == {"0"}


def unknown(api: Api) -> Answer:
    return api.reply(None, [Call("drop_tables", "{}")])


TOOL_FAULTS: Final[dict[str, Callable[[Any], Answer | None]]] = {
    "a tool that the model was not offered": unknown,
    "arguments that are no JSON": lambda api: api.reply(None, [Call(arguments='{"customer": ')]) if bare(api) else None,
    "arguments that are no object": lambda api: api.reply(None, [Call(arguments="[1]")]) if bare(api) else None,
}


def bare(api: Api) -> bool:
    """Whether arguments travel as text: Anthropic sends them as JSON, so that they are at least that."""
    return not isinstance(api, Anthropic)


@pytest.mark.parametrize(
    ("fault", "api"),
    [(fault, api) for fault, make in TOOL_FAULTS.items() for api in PROVIDERS.values() if make(api) is not None],
)
async def test_a_bad_tool_call_is_told_to_the_model(provider: Provider, fault: str, api: Api) -> None:
    step = TOOL_FAULTS[fault](api)
    assert step is not None
    provider.script = [step, api.reply("sorry")]
    response = response_of(await action(api).handle(new()))
    assert response.response.content == "sorry"
    (told,) = table("Faults of tool calls")[fault]
    assert told.strip("`") in str(provider.requests[1])


@pytest.mark.parametrize("api", PROVIDERS.values(), ids=PROVIDERS.keys())
@pytest.mark.parametrize("ids", [("same", "same"), ("", "")])
async def test_calls_under_one_id_or_none_are_told_apart(provider: Provider, api: Api, ids: tuple[str, str]) -> None:
    provider.script = [api.reply(None, [Call(id=ids[0]), Call(arguments='{"customer": "bob"}', id=ids[1])])]
    effects: Effects = await action(api).handle(new())
    (request,) = effects.events
    found = request.attributes["tool_calls"]
    assert [call["function"]["arguments"] for call in found] == [{"customer": "ada"}, {"customer": "bob"}]
    assert len({call["id"] for call in found}) == len({call["original_id"] for call in found}) == 2


async def test_no_arguments_at_all_are_an_empty_object(provider: Provider) -> None:
    for api in (OpenAIChat(), OpenAIResponses()):
        provider.script = [api.reply(None, [Call(arguments="")])]
        (request,) = (await action(api).handle(new())).events
        assert request.attributes["tool_calls"][0]["function"]["arguments"] == {}


@pytest.mark.parametrize("api", PROVIDERS.values(), ids=PROVIDERS.keys())
async def test_a_truncated_answer_says_so(provider: Provider, api: Api) -> None:
    more: dict[str, Any] = {"finish_reason": "length"}
    if isinstance(api, OpenAIResponses):
        more = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    elif isinstance(api, Anthropic):
        more = {"stop_reason": "max_tokens"}
    provider.script = [api.reply("half of", **more)]
    assert response_of(await action(api).handle(new())).response.extra_args["finish_reason"] == "length"
    provider.script = [api.reply("whole")]
    assert "finish_reason" not in response_of(await action(api).handle(new())).response.extra_args


@pytest.mark.parametrize("api", PROVIDERS.values(), ids=PROVIDERS.keys())
async def test_structured_output_through_each_client(provider: Provider, api: Api) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    provider.script = [api.reply('{"n": "one"}'), api.reply('```json\n{"n": 1}\n```')]
    response = response_of(await action(api, output_type=schema, tools=[]).handle(new()))
    assert response.response.content == '{"n": 1}'
    assert "$.n" in str(provider.requests[1])
    provider.script = [api.reply("no")]
    failure_of(await action(api, output_type=schema, tools=[]).handle(new()), "output_invalid")
