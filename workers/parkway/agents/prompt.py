"""`Prompt`: messages with `{placeholders}`, which a chat model puts before those of a request."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, get_args

from pydantic import ValidationError

from parkway.agents.errors import AgentError
from parkway.agents.resource import Resource
from parkway.schemas import jsonio
from parkway.schemas.messages import ChatMessage

Role = Literal["system", "user"]
_BRACES: Final = re.compile(r"\{([^{}]+)\}")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class PromptArgumentsError(ValueError):
    """`prompt_args` that lack what the prompt needs; the message names it and quotes no value."""


class Prompt(Resource):
    """A prompt of an agent, as a class attribute: `triage = Prompt("You triage tickets of {shop}.")`.

    A chat model takes it by name or as it is: `ChatModel(..., prompt="triage")`. Its messages come first, filled from
    the request's `prompt_args`; then those of the request, in which nothing is ever filled in.

    `template` is one text, a message of `role`, or a list of messages (ChatMessages, or mappings with `role` and
    `content`). `defaults` stand for arguments that a request does not bring. How a template is filled:

    - `{name}` (letters, digits, `_`) is a placeholder. An argument that is a string stands there as it is, anything
      else as JSON. Without an argument and a default the request fails as `bad_request`.
    - All other braces are text, so JSON in a prompt needs no escape: `{"a": 1}`, `{}`, `{{`. `{a b}` is filled when
      there is an argument of exactly that name, and else is text. To have `{x}` as text: `defaults={"x": "{x}"}`.
    - One pass: braces that an argument brings in are text.

    Raises AgentError for a template that makes no sense.
    """

    def __init__(
        self,
        template: str | Sequence[ChatMessage | Mapping[str, Any]],
        *,
        role: Role = "system",
        defaults: Mapping[str, Any] | None = None,
    ) -> None:
        if role not in get_args(Role):
            raise AgentError(f"Prompt(role={role!r}): 'system' or 'user'")
        self.messages: tuple[ChatMessage, ...] = _messages(template, role)
        self.defaults: dict[str, Any] = dict(defaults or {})
        found = {name for message in self.messages for name in _BRACES.findall(message.content)}
        self.placeholders = frozenset(name for name in found if _NAME.fullmatch(name))

    @classmethod
    def from_text(cls, text: str, *, role: Role = "system", defaults: Mapping[str, Any] | None = None) -> "Prompt":
        """One message of `role`."""
        return cls(text, role=role, defaults=defaults)

    @classmethod
    def from_messages(
        cls, messages: Sequence[ChatMessage | Mapping[str, Any]], *, defaults: Mapping[str, Any] | None = None
    ) -> "Prompt":
        """Several messages, each with placeholders of its own."""
        return cls(messages, defaults=defaults)

    @classmethod
    def from_file(
        cls, path: str | Path, *, role: Role = "system", defaults: Mapping[str, Any] | None = None
    ) -> "Prompt":
        """The text of a UTF-8 file, read now; `Path(__file__).with_name("triage.md")` is found wherever you start.

        Raises AgentError for a file that cannot be read.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise AgentError(f"Prompt.from_file({str(path)!r}): {error}; looked in {Path.cwd()}") from error
        return cls(text, role=role, defaults=defaults)

    def __repr__(self) -> str:
        text = self.messages[0].content
        return f"Prompt({text if len(text) <= 40 else text[:37] + '...'!r})"

    def render(self, arguments: Mapping[str, Any]) -> list[ChatMessage]:
        """The messages with their placeholders filled. Raises PromptArgumentsError."""
        given = {**self.defaults, **arguments}
        missing = sorted(self.placeholders - given.keys())
        if missing:
            names = ", ".join(repr(name) for name in missing)
            raise PromptArgumentsError(f"the prompt needs {names}; given: {', '.join(sorted(given)) or 'nothing'}")
        if not given:
            return list(self.messages)
        return [message.model_copy(update={"content": _filled(message.content, given)}) for message in self.messages]


def _filled(text: str, arguments: Mapping[str, Any]) -> str:
    def value(match: re.Match[str]) -> str:
        if match[1] not in arguments:
            return match[0]
        argument = arguments[match[1]]
        return argument if isinstance(argument, str) else jsonio.dumps(argument).decode()

    return _BRACES.sub(value, text)


def _messages(template: object, role: Role) -> tuple[ChatMessage, ...]:
    if isinstance(template, str):
        template = [ChatMessage(role=role, content=template)]
    if not isinstance(template, Sequence) or not template:
        raise AgentError(f"Prompt({template!r}): a text, or a list of messages")
    messages = tuple(_message(index, each) for index, each in enumerate(template))
    if not any(message.content.strip() for message in messages):
        raise AgentError("Prompt(...): the text is empty")
    return messages


def _message(index: int, given: object) -> ChatMessage:
    try:
        message = given if isinstance(given, ChatMessage) else ChatMessage.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise AgentError(f"Prompt(...): message {index}: {where}: {first['msg']}") from None
    if message.role == "tool" or message.tool_calls:
        raise AgentError(f"Prompt(...): message {index}: tool calls and their results are no part of a prompt")
    return message
