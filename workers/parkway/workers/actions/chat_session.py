"""One chat request while it is worked on: what it asks for, and the conversation since."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse

from parkway.agents.output_type import OutputType
from parkway.agents.prompt import PromptArgumentsError
from parkway.agents.retry import Retry
from parkway.runtime import metrics
from parkway.runtime.logs import get_logger
from parkway.schemas.errors import ErrorType
from parkway.schemas.events import ChatRequestEvent, Event, EventError, ToolResponseEvent
from parkway.schemas.messages import ChatMessage
from parkway.workers.actions import conversation
from parkway.workers.actions.backend import Schema
from parkway.workers.actions.backends import Question
from parkway.workers.actions.chat_answers import ChatError
from parkway.workers.actions.chat_models import ServedModel
from parkway.workers.actions.chat_state import ChatState
from parkway.workers.actions.json_schema import SchemaError
from parkway.workers.actions.structured_output import OutputInvalidError, read_output
from parkway.workers.actions.tool_round import definitions_of, results_for
from parkway.workers.actions.toolbox import AnyTool, ToolFailedError
from parkway.workers.effects import JournalEntry, Task
from parkway.workers.limiter import Permit


@dataclass(slots=True)
class ChatSession:
    """`asked` are the messages that the request begins with, `since` those after, `tools` what the model may call."""

    served: ServedModel
    state: ChatState
    output_schema: Schema | None
    output_type: OutputType | None
    asked: list[ModelMessage]
    since: list[ModelMessage]
    journal: list[JournalEntry]
    permit: Permit | None = None
    tools: Mapping[str, AnyTool] = field(default_factory=dict)

    @classmethod
    def of(
        cls, task: Task, request: ChatRequestEvent, served: ServedModel, state: ChatState, journal: list[JournalEntry]
    ) -> "ChatSession":
        """Begin, or go on with the tool response that was waited for. Raises ChatError."""
        since: list[ModelMessage] = []
        if task.parked is not None:
            response = Event.parse(task.event)
            if not isinstance(response, ToolResponseEvent):
                raise TypeError(f"a parked chat is resumed by a tool response, not by a {response.type}")
            since = [*conversation.load(state.conversation), results_for(state.calls, response.results())]
        own = served.chat.output_type if request.output_schema is None else None
        return cls(
            served=served,
            state=state,
            output_schema=own.schema if own is not None else request.output_schema,
            output_type=own,
            asked=conversation.from_chat_messages(_messages(request, served)),
            since=since,
            journal=journal,
            permit=task.permit,
        )

    async def open_tools(self, backoff: Retry) -> None:
        """Find out what the model may call; MCP servers that do not answer are asked again. Raises ChatError."""
        attempt = 0
        while True:
            attempt += 1
            try:
                self.tools = await self.served.toolbox.all()
            except ToolFailedError as error:
                if attempt > self.served.chat.max_retries:
                    message = f"the tools of {self.served.name!r} are not there: {error}"
                    raise ChatError(ErrorType.PROVIDER_ERROR, message) from None
            else:
                return
            await asyncio.sleep(backoff.wait_after(attempt))

    async def ask(self) -> ModelResponse:
        """Get the model's next reply and add it to the conversation. Raises CallFailedError and ChatError."""
        permit, self.permit = self.permit, None
        question = Question(
            messages=[*self.asked, *self.since],
            tools=definitions_of(self.tools.values()),
            output_schema=self.output_schema,
            round=self.state.round + 1,
            deadline=self.state.deadline,
            first=self.state.model,
            tally=self.state.tally,
            journal=self.journal,
            permit=permit,
        )
        self.state.model, reply = await self.served.backends.ask(question)
        reply = conversation.with_unique_call_ids(conversation.with_valid_text(reply))
        self.since.append(reply)
        return reply

    def read(self, text: str) -> str:
        """The answer in the form that was asked for. Raises OutputInvalidError and ChatError."""
        if self.output_schema is None:
            return text
        try:
            return read_output(text, self.output_schema, self.output_type)
        except SchemaError as error:
            raise ChatError(ErrorType.BAD_REQUEST, f"output_schema: {error}") from None

    def ask_again(self, problem: OutputInvalidError, *, quote: bool) -> None:
        """Tell the model what is wrong with its output. Raises ChatError after `max_retries` times."""
        state = self.state
        if state.output_retries >= self.served.chat.max_retries:
            quoted = f": {problem}" if quote else ""
            message = f"the reply does not fit output_schema after {state.output_retries} retries{quoted}"
            raise ChatError(ErrorType.OUTPUT_INVALID, message)
        state.output_retries += 1
        state.tally.retries += 1
        metrics.MODEL_RETRIES.labels(state.model or "").inc()
        text = f"Your answer cannot be used: {problem}. Answer again with nothing but JSON that fits the schema."
        self.since.append(conversation.user_message(text))


def read_request(event: Mapping[str, Any]) -> ChatRequestEvent:
    """The request in its typed form. Raises ChatError (`bad_request`)."""
    try:
        request = Event.parse(event)
    except EventError as error:
        raise ChatError(ErrorType.BAD_REQUEST, str(error)) from None
    if not isinstance(request, ChatRequestEvent):
        raise ChatError(ErrorType.BAD_REQUEST, f"a {request.type} is not a chat request")
    if request.output_schema is not None and not isinstance(request.output_schema, dict):
        raise ChatError(ErrorType.BAD_REQUEST, "output_schema: expected a JSON schema, which is an object")
    return request


def _messages(request: ChatRequestEvent, served: ServedModel) -> list[ChatMessage]:
    """The prompt's messages, filled, and the request's as they are."""
    if served.prompt is None:
        if request.prompt_args:
            _warn_of_arguments(served.name)
        if not request.messages:
            raise ChatError(ErrorType.BAD_REQUEST, "messages is empty: a chat begins with at least one message")
        return request.messages
    try:
        messages = served.prompt.render(request.prompt_args)
    except PromptArgumentsError as error:
        raise ChatError(ErrorType.BAD_REQUEST, f"prompt_args: {error} (chat model {served.name!r})") from None
    # As in Flink Agents: a request that only fills the prompt may bring an empty message.
    messages += [message for message in request.messages if message.content or message.role == "assistant"]
    if all(message.role == "system" for message in messages):
        raise ChatError(
            ErrorType.BAD_REQUEST,
            f"messages is empty, and the prompt of chat model {served.name!r} has no user message either",
        )
    return messages


@lru_cache(maxsize=256)
def _warn_of_arguments(model: str) -> None:
    """Once per model: whoever sends them may believe that they fill something in."""
    hint = "nothing fills the messages of a request in; give the ChatModel a prompt=, or leave prompt_args out"
    get_logger("worker").warning("prompt_args_ignored", chat_model=model, hint=hint)
