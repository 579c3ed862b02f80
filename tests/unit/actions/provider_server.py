"""A provider of models on this machine: a real HTTP server that answers as told, in the words of three real ones."""

import json
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """`cut`: the connection ends before the body does. `hang`: nothing comes until the test is over."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    cut: bool = False
    hang: bool = False


def answer(value: Any, status: int = 200, **headers: str) -> Answer:
    """A JSON answer; headers by name with `_` for `-`."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, {"content-type": "application/json", **sent}, json.dumps(value).encode())


HANG = Answer(hang=True)


class Provider:
    """Answers with one step of `script` after the other, the last one for ever. `requests` are the bodies it got."""

    def __init__(self) -> None:
        self.script: list[Answer] = []
        self.requests: list[dict[str, Any]] = []
        self.times: list[float] = []
        self.arrived = threading.Event()
        self.released = threading.Event()
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                body["path"], body["retries"] = self.path, self.headers.get("x-stainless-retry-count")
                provider.times.append(time.monotonic())
                provider.requests.append(body)
                provider.arrived.set()
                step = provider.script.pop(0) if len(provider.script) > 1 else provider.script[0]
                if step.hang:
                    provider.released.wait(30)
                with suppress(ConnectionError):  # the client gave up, which is what the test is about
                    self._send(step)

            def _send(self, step: Answer) -> None:
                self.send_response(step.status)
                for name, value in step.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(step.body)))
                self.end_headers()
                self.wfile.write(step.body[: len(step.body) // 2] if step.cut else step.body)
                self.wfile.flush()
                if step.cut:
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)

            def log_message(self, *_: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def stop(self) -> None:
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@dataclass(frozen=True)
class Call:
    """A tool call as a model asks for it; `arguments` is JSON text, as it comes, or what it should have been."""

    name: str = "lookup"
    arguments: str = '{"customer": "ada"}'
    id: str = "call_1"


class OpenAIChat:
    """`/chat/completions`, which every OpenAI-compatible server speaks."""

    model = "openai-chat:gpt-test"
    path = "/v1/chat/completions"

    def reply(self, text: str | None, calls: Sequence[Call] = (), **message: Any) -> Answer:
        finish = message.pop("finish_reason", "tool_calls" if calls else "stop")
        tools = [
            {"id": each.id, "type": "function", "function": {"name": each.name, "arguments": each.arguments}}
            for each in calls
        ]
        content = {"role": "assistant", "content": text, **({"tool_calls": tools} if tools else {}), **message}
        usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
        body = {"id": "c", "object": "chat.completion", "created": 1, "model": "served-model", "usage": usage}
        return answer({**body, "choices": [{"index": 0, "finish_reason": finish, "message": content}]})

    def error(
        self, status: int, message: str = "it said: secret", *, kind: str = "e", code: str = "", **h: str
    ) -> Answer:
        return answer({"error": {"message": message, "type": kind, "param": None, "code": code or None}}, status, **h)

    def context_too_long(self) -> Answer:
        text = "This model's maximum context length is 8192 tokens, yours has 9000."
        return self.error(400, text, kind="invalid_request_error", code="context_length_exceeded")

    def quota(self) -> Answer:
        return self.error(429, "You exceeded your current quota", kind="insufficient_quota", code="insufficient_quota")

    def refusal(self) -> Answer:
        return self.reply(None, refusal="I will not")

    def filtered(self) -> Answer:
        return self.reply("half of", finish_reason="content_filter")

    def used_up(self) -> Answer:
        return self.reply("", finish_reason="length")


class OpenAIResponses(OpenAIChat):
    """`/responses`, OpenAI's own newer form."""

    model = "openai-responses:gpt-test"
    path = "/v1/responses"

    def reply(self, text: str | None, calls: Sequence[Call] = (), **more: Any) -> Answer:
        content = more.pop(
            "content", [] if text is None else [{"type": "output_text", "text": text, "annotations": []}]
        )
        output: list[dict[str, Any]] = []
        if content:
            message = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content}
            output.append(message)
        output += [
            {"type": "function_call", "id": f"fc_{i}", "call_id": each.id, "status": "completed"}
            | {"name": each.name, "arguments": each.arguments}
            for i, each in enumerate(calls)
        ]
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        usage = {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9, **details}
        body = {"id": "r", "object": "response", "created_at": 1, "model": "served-model", "status": "completed"}
        tools = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        return answer({**body, **tools, "output": output, "usage": usage, **more})

    def refusal(self) -> Answer:
        return self.reply(None, content=[{"type": "refusal", "refusal": "I will not"}])

    def filtered(self) -> Answer:
        return self.reply("half of", status="incomplete", incomplete_details={"reason": "content_filter"})

    def used_up(self) -> Answer:
        return self.reply(None, status="incomplete", incomplete_details={"reason": "max_output_tokens"})


class Anthropic:
    """`/v1/messages`."""

    model = "anthropic:claude-test"
    path = "/v1/messages"

    def reply(self, text: str | None, calls: Sequence[Call] = (), **more: Any) -> Answer:
        content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        content += [
            {"type": "tool_use", "id": each.id, "name": each.name, "input": json.loads(each.arguments)}
            for each in calls
        ]
        stop = more.pop("stop_reason", "tool_use" if calls else "end_turn")
        body = {"id": "msg_1", "type": "message", "role": "assistant", "model": "served-model", "stop_sequence": None}
        usage = {"input_tokens": 7, "output_tokens": 2}
        return answer({**body, "content": content, "stop_reason": stop, "usage": usage, **more})

    def error(
        self, status: int, message: str = "it said: secret", *, kind: str = "", code: str = "", **h: str
    ) -> Answer:
        kinds = {401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error", 500: "api_error"}
        kind = kind or kinds.get(status, "invalid_request_error")
        return answer({"type": "error", "error": {"type": kind, "message": message}}, status, **h)

    def context_too_long(self) -> Answer:
        return self.error(400, "prompt is too long: 210000 tokens > 200000 maximum")

    def quota(self) -> Answer:
        return self.error(400, "Your credit balance is too low to access the Anthropic API.")

    def refusal(self) -> Answer:
        return self.reply("half of", stop_reason="refusal")

    def filtered(self) -> Answer:
        return self.refusal()

    def used_up(self) -> Answer:
        return self.reply(None, stop_reason="max_tokens")

    def stream(self, text: str, *, ends: bool = True, fault: str | None = None) -> Answer:
        """The reply as server-sent events, which the SDK asks for when `max_tokens` is large."""
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "served-model", "content": []}
        started = {
            **message,
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 7, "output_tokens": 1},
        }
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": started},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        ]
        if fault is not None:
            events.append({"type": "error", "error": {"type": fault, "message": "it said: secret"}})
        elif ends:
            stop = {"stop_reason": "end_turn", "stop_sequence": None}
            events.append({"type": "content_block_stop", "index": 0})
            events.append({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 2}})
            events.append({"type": "message_stop"})
        body = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)
        return Answer(headers={"content-type": "text/event-stream"}, body=body.encode())


PROVIDERS = {"OpenAI chat": OpenAIChat(), "OpenAI responses": OpenAIResponses(), "Anthropic": Anthropic()}
