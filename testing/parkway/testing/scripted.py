"""Models that say what a test tells them to."""

import asyncio
import copy
import inspect
import json
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pydantic import BaseModel
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    RetryPromptPart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from parkway.testing.errors import ScriptError


@dataclass(frozen=True, slots=True)
class CallTool:
    """A reply that calls a tool. Several in a list are called at once."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class After:
    """A reply that takes its time: seconds of the test's clock."""

    seconds: float
    reply: "Reply"


Reply: TypeAlias = (
    str | CallTool | Sequence[CallTool | str] | After | BaseModel | Mapping[str, Any] | ModelResponse | BaseException
)
"""Text; tool calls; a pydantic model or a map, written as JSON; an exception to raise; a response of pydantic-ai's."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a model is asked: the conversation so far, as pydantic-ai's messages, and what stands in it."""

    messages: tuple[ModelMessage, ...]
    tools: tuple[str, ...]
    instructions: str | None = None

    @property
    def text(self) -> str:
        """The newest text of the user."""
        texts = [
            part.content
            for message in self.messages
            for part in message.parts
            if isinstance(part, UserPromptPart) and isinstance(part.content, str)
        ]
        return texts[-1] if texts else ""

    @property
    def tool_results(self) -> dict[str, Any]:
        """What each tool gave last, by its name: a value, or the text of its failure."""
        return {
            part.tool_name: _value(part)
            for message in self.messages
            for part in message.parts
            if isinstance(part, ToolReturnPart)
        }

    @property
    def rounds(self) -> int:
        """How often a model has replied in this conversation."""
        return sum(isinstance(message, ModelResponse) for message in self.messages)

    def __str__(self) -> str:
        return " | ".join(line for message in self.messages for line in _lines(message)) or "no messages"


class ScriptedModel(FunctionModel):
    """A chat model that gives the replies of a script, one a request, or what a function of the `Question` gives.

    `ScriptedModel("a", "b")`: the first request is answered with "a", whoever asks. `per_conversation=True`: every
    conversation goes through the script from its beginning, so any number of them are answered. A script that is used
    up raises ScriptError, from `test.run()` too. `questions` are the requests so far. An exception is raised where it
    stands; the chat's own retries ask again and get the next reply.

    A process that died in a test asks again what it had asked: it gets the same reply again.
    """

    def __init__(
        self,
        *script: Reply | Callable[[Question], Reply | Awaitable[Reply]],
        per_conversation: bool = False,
        name: str = "scripted",
    ) -> None:
        """Raise ValueError for a function among replies."""
        self._function: Callable[[Question], Reply | Awaitable[Reply]] | None = None
        if len(script) == 1 and callable(script[0]) and not isinstance(script[0], type):
            self._function = script[0]
            script = ()
        elif any(callable(reply) and not isinstance(reply, type) for reply in script):
            raise ValueError("ScriptedModel(...): replies, or one function of the question; not both")
        self._script: tuple[Any, ...] = script
        self._per_conversation = per_conversation
        self.restart()
        super().__init__(self._answer, model_name=name)

    def restart(self) -> None:
        """Begin anew: every AgentTest does so with the models that it is given."""
        self.questions: list[Question] = []
        self.problems: list[ScriptError] = []
        self._position = 0
        self._raised: dict[str, int] = defaultdict(int)  # by conversation: replies of the script that were exceptions
        self._given: dict[str, list[Any]] = defaultdict(list)
        self._again: dict[str, deque[Any]] = {}

    def process_died(self) -> None:
        """What was asked before is asked again, and gets the replies that it got."""
        self._again = {asked: deque(replies) for asked, replies in self._given.items()}

    async def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        question = Question(
            tuple(copy.deepcopy(messages)), tuple(tool.name for tool in info.function_tools), info.instructions
        )
        self.questions.append(question)
        reply = await self._reply(question)
        while isinstance(reply, After):
            await asyncio.sleep(reply.seconds)
            reply = reply.reply
        if _is_exception(reply):
            raise reply
        return _response(reply, self.model_name)

    async def _reply(self, question: Question) -> Any:
        if self._function is not None:
            reply = self._function(question)
            return await reply if inspect.isawaitable(reply) else reply
        asked = _fingerprint(question.messages)
        if self._again.get(asked):
            return self._again[asked].popleft()
        line = _fingerprint(_first(question.messages)) if self._per_conversation else ""
        position = question.rounds + self._raised[line] if self._per_conversation else self._position
        if position >= len(self._script):
            problem = ScriptError(
                f"ScriptedModel {self.model_name!r}: its script of {len(self._script)} "
                f"repl{'y' if len(self._script) == 1 else 'ies'} is used up by request {len(self.questions)}"
                f"{' of this conversation' if line else ''}: {question}"
            )
            self.problems.append(problem)
            raise problem
        self._position += 1
        reply = self._script[position]
        self._raised[line] += _is_exception(reply.reply if isinstance(reply, After) else reply)
        self._given[asked].append(reply)
        return reply


def _is_exception(reply: Any) -> bool:
    return isinstance(reply, BaseException) or (isinstance(reply, type) and issubclass(reply, BaseException))


def _value(part: ToolReturnPart) -> Any:
    if part.outcome != "success" or not isinstance(part.content, str):
        return part.content
    try:
        return json.loads(part.content)
    except ValueError:
        return part.content


def _response(reply: Any, model_name: str) -> ModelResponse:
    if isinstance(reply, ModelResponse):
        return copy.deepcopy(reply)
    if isinstance(reply, BaseModel):
        reply = reply.model_dump_json()
    elif isinstance(reply, Mapping):
        reply = json.dumps(reply)
    parts = [_part(part) for part in ([reply] if isinstance(reply, str | CallTool) else reply)]
    return ModelResponse(parts=parts, model_name=model_name, usage=RequestUsage(input_tokens=10, output_tokens=10))


def _part(part: Any) -> ModelResponsePart:
    if isinstance(part, CallTool):
        return ToolCallPart(part.name, dict(part.arguments))
    if isinstance(part, str):
        return TextPart(part)
    raise TypeError(f"a scripted reply is text, CallTool(...), a list of these, a model or a map, not {part!r}")


def _first(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The request that a conversation began with."""
    for position, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            return list(messages[:position])
    return list(messages)


def _fingerprint(messages: Sequence[ModelMessage]) -> str:
    """What was said, without ids and times: equal for one that is asked again."""
    return "\n".join(line for message in messages for line in _lines(message))


def _lines(message: ModelMessage) -> list[str]:
    if isinstance(message, ModelRequest):
        return [line for part in message.parts if (line := _line(part)) is not None]
    return [line for part in message.parts if (line := _line(part)) is not None]


def _line(part: object) -> str | None:
    match part:
        case SystemPromptPart():
            return f"system: {part.content}"
        case UserPromptPart():
            return f"user: {part.content}"
        case ToolReturnPart():
            return f"{part.tool_name} gave: {part.model_response_str()}"
        case RetryPromptPart():
            return f"{part.tool_name or 'again'}: {part.content}"
        case TextPart():
            return f"model: {part.content}"
        case ToolCallPart():
            return f"model calls {part.tool_name}({part.args_as_json_str()})"
    return None
