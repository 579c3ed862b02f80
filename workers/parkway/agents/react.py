"""`ReActAgent`: an agent without a class of one's own: input event, model and tools in turn, output event."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from parkway.agents.action import action
from parkway.agents.agent import Agent, definition_of
from parkway.agents.chat_model import ChatModel, ModelSource
from parkway.agents.context import Context
from parkway.agents.errors import AgentError
from parkway.agents.mcp_server import MCPServer
from parkway.agents.prompt import Prompt
from parkway.agents.tool import Tool
from parkway.schemas import jsonio
from parkway.schemas.event_types import EventType
from parkway.schemas.events import ChatRequestEvent, ChatResponseEvent, InputEvent
from parkway.schemas.messages import ChatMessage

MODEL: Final = "assistant"
_MINE: Final = "react"


class ReActAgent(Agent):
    """Answers each input event with one output event; the model calls tools in between as it sees fit.

        agent = ReActAgent(model="openai:gpt-5-mini", tools=[add, multiply], prompt="What is ({a} + {b}) * {c}?")

    `model` is a model name, or a ChatModel for everything that a ChatModel can say (then `tools`, `prompt` and
    `output_type` stand there). A `prompt` that is a text is a user message.

    An input that is an object fills the prompt's placeholders by its members, any other fills `{input}`. Where
    the prompt has no user message, or there is none, the input is the user message: text as it is, else as JSON.
    The output is the answer's text, or with an `output_type` its JSON. A chat that fails ends in the dead-letter
    topic, with the reason.
    """

    def __init__(
        self,
        *,
        model: ModelSource | ChatModel[Any],
        tools: Sequence[Tool[..., Any] | Callable[..., Any] | MCPServer] = (),
        prompt: Prompt | str | None = None,
        output_type: type[Any] | Mapping[str, Any] | None = None,
    ) -> None:
        """Raise AgentError for values that make no sense."""
        if isinstance(prompt, str):
            prompt = Prompt(prompt, role="user")
        if not isinstance(model, ChatModel):
            model = ChatModel(model, tools=tools, prompt=prompt, output_type=output_type)
        elif tools or prompt is not None or output_type is not None:
            raise AgentError(f"ReActAgent(model={model!r}, ...): tools, prompt and output_type go into the ChatModel")
        elif isinstance(model.prompt, str):
            raise AgentError(f"ReActAgent(model={model!r}): a Prompt itself, not its name ({model.prompt!r})")
        # What an agent is, its class says (a plan is built without an instance): each instance has one of its own.
        self.__class__ = type(type(self).__name__, (type(self),), {MODEL: model})

    @action(EventType.InputEvent)
    async def start(self, event: InputEvent, ctx: Context) -> None:
        """Ask the model."""
        given = event.input
        model = definition_of(self).chat_models[MODEL]
        prompt = model.prompt
        asks = isinstance(prompt, Prompt) and any(message.role == "user" for message in prompt.messages)
        text = given if isinstance(given, str) else jsonio.dumps(given).decode()
        ctx.send(
            ChatRequestEvent(
                model=MODEL,
                messages=[] if asks else [ChatMessage.user(text)],
                prompt_args=given if isinstance(given, dict) else {"input": text},
                user_context={_MINE: True},
            )
        )

    @action(EventType.ChatResponseEvent, when=f"has(user_context.{_MINE})")
    async def stop(self, event: ChatResponseEvent, ctx: Context) -> None:
        """Give the answer out. Raises ChatFailedError for a chat that failed."""
        model = definition_of(self).chat_models[MODEL]
        content = event.response.content
        ctx.output(jsonio.loads(content) if model.output_type is not None else content)
