"""`ChatModel`: the resource that answers chat requests, with its tools and its patience."""

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Final, Generic, TypeAlias, get_args

from pydantic_ai.models import KnownModelName, Model
from pydantic_ai.providers import infer_provider_class
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import UsageLimits
from typing_extensions import TypeVar  # its `default` is in typing from Python 3.13 on

from parkway.agents.errors import AgentError, did_you_mean
from parkway.agents.mcp_server import MCPServer
from parkway.agents.output_type import OutputType
from parkway.agents.prompt import Prompt
from parkway.agents.resource import Resource
from parkway.agents.tool import Tool, as_tool
from parkway.schemas.events import ChatResponseEvent

ModelSource: TypeAlias = str | Model | Callable[[], Model]
"""A pydantic-ai model name such as `openai:gpt-5-mini`, a model, or a function that makes one."""

Output = TypeVar("Output", default=Any)

_CLIENTS: Final = {
    "openai": "openai",
    "openai-chat": "openai",
    "openai-responses": "openai",
    "anthropic": "anthropic",
}
"""The packages of providers that have an extra of that name."""

_UNSUPPORTED_LIMITS = ("cost_limit", "count_tokens_before_request")


class ChatModel(Resource, Generic[Output]):
    """A chat model of an agent; a chat request names it by its attribute in the agent's class.

    `fallbacks` are tried in order when `model` fails for good. `settings` are pydantic-ai's model settings
    (`temperature`, `max_tokens` ...). `prompt` (a Prompt, or the name of the agent's) comes before the messages of
    every request, filled from its `prompt_args`; `instructions` go with every call as they are.

    `output_type` is what an answer must be when its request has no `output_schema`: a pydantic model, another type
    that pydantic validates, or a JSON schema. An answer that does not fit is asked again with the reason.
    `ChatModel(..., output_type=Verdict)` is a `ChatModel[Verdict]`, and its `output(event)` gives a Verdict.

    `max_retries` counts the further attempts per model call, `timeout` is the time of one call and `deadline` that
    of a whole request without a deadline of its own, both in seconds. `usage_limits` (pydantic-ai's class) bound what
    one request may use, over its rounds, retries and fallbacks: its `request_limit` counts every call of a model, and
    is 50 unless you say otherwise; what would go beyond ends the request as `budget_exceeded`.
    Nothing here needs a secret or a network: the models are opened when a worker starts.

    `requests_per_minute`, `tokens_per_minute` and `concurrency` (calls at once) limit the calls of this
    ChatModel, retries and fallbacks included, in the **whole installation**: every worker takes the share of
    the partitions that it owns, so that more workers do not send more. Tokens are reckoned after a call.
    A chat that waits for a limit waits in its queue, where its `deadline` has not begun.
    """

    def __init__(
        self,
        model: ModelSource,
        *,
        instructions: str | None = None,
        prompt: Prompt | str | None = None,
        tools: Sequence[Tool[..., Any] | Callable[..., Any] | MCPServer] = (),
        output_type: type[Output] | Mapping[str, Any] | None = None,
        fallbacks: Sequence[ModelSource] = (),
        settings: ModelSettings | None = None,
        max_retries: int = 3,
        max_tool_rounds: int = 20,
        timeout: float = 60.0,
        deadline: float = 600.0,
        usage_limits: UsageLimits | None = None,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        concurrency: int | None = None,
    ) -> None:
        """Raise AgentError for values that make no sense."""
        if isinstance(fallbacks, str):
            raise AgentError(f"ChatModel(fallbacks={fallbacks!r}): a list, such as [{fallbacks!r}]")
        if prompt is not None and not isinstance(prompt, Prompt | str):
            raise AgentError(f"ChatModel(prompt={prompt!r}): a Prompt, or the name of one in the agent's class")
        self.model = model
        self.instructions = instructions
        self.prompt = prompt
        self.tools: tuple[Tool[..., Any], ...] = tuple(as_tool(one) for one in tools if not isinstance(one, MCPServer))
        self.mcp_servers: tuple[MCPServer, ...] = tuple(one for one in tools if isinstance(one, MCPServer))
        self.output_type = OutputType(output_type) if output_type is not None else None
        self.fallbacks: tuple[ModelSource, ...] = tuple(fallbacks)
        self.settings = settings if settings is not None else ModelSettings()
        self.max_retries = max_retries
        self.max_tool_rounds = max_tool_rounds
        self.timeout = timeout
        self.deadline = deadline
        self.usage_limits = usage_limits
        self.requests_per_minute = requests_per_minute
        self.tokens_per_minute = tokens_per_minute
        self.concurrency = concurrency
        self._check()

    def __repr__(self) -> str:
        return f"ChatModel({self.model!r})"

    @property
    def sources(self) -> tuple[ModelSource, ...]:
        """The model and its fallbacks, in the order in which they are tried."""
        return (self.model, *self.fallbacks)

    def output(self, event: ChatResponseEvent) -> Output:
        """What this model answered, as its `output_type`: an instance of the type, the JSON of a schema, or the text.

        Raises ChatFailedError with the error of a failed response, and ValueError for an answer of another form.
        """
        text = event.response.content
        output: Any = self.output_type.read(text) if self.output_type is not None else text
        return output  # type: ignore[no-any-return]  # the type that output_type was made of

    def check(self) -> None:
        """Raise AgentError, which names the extra, when the client of a provider is not installed."""
        for source in self.sources:
            client = _CLIENTS.get(source.partition(":")[0]) if isinstance(source, str) else None
            if client is not None and find_spec(client) is None:
                raise AgentError(f"ChatModel({source!r}) needs {client}: pip install 'parkway[{client}]'")

    def _check(self) -> None:
        for source in self.sources:
            _check_source(source)
        for name in ("max_retries", "max_tool_rounds"):
            if getattr(self, name) < 0:
                raise AgentError(f"ChatModel({name}={getattr(self, name)}): 0 or more")
        for name in ("timeout", "deadline"):
            if getattr(self, name) <= 0:
                raise AgentError(f"ChatModel({name}={getattr(self, name)}): seconds, more than 0")
        for name in ("requests_per_minute", "tokens_per_minute", "concurrency"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise AgentError(f"ChatModel({name}={value!r}): a whole number from 1 on, or None for no limit")
        names = [each.name for each in self.tools]
        for name in names:
            if names.count(name) > 1:
                raise AgentError(f"ChatModel(tools=...): two are called {name!r}; write @tool(name=...)")
        if self.usage_limits is not None:
            _check_limits(self.usage_limits)


_PROVIDERS: Final = frozenset(name.partition(":")[0] for name in get_args(KnownModelName.__value__))


def _check_provider(source: str, provider: str) -> None:
    """Those of known models are taken at their word: to ask for their class imports their client."""
    if provider in _PROVIDERS:
        return
    try:
        infer_provider_class(provider.removeprefix("gateway/"))
    except ValueError:
        hint = did_you_mean(provider, _PROVIDERS) or "; see https://pydantic.dev/docs/ai/models/overview"
        raise AgentError(f"ChatModel({source!r}): no provider is called {provider!r}{hint}") from None
    except ImportError:
        return  # it is known, and its client is needed in workers only


def _check_source(source: object) -> None:
    if isinstance(source, str):
        provider, _, name = source.partition(":")
        if source != "test" and not (provider and name):
            raise AgentError(f"ChatModel({source!r}): a model name is 'provider:model', such as 'openai:gpt-5-mini'")
        if source != "test":
            _check_provider(source, provider)
    elif not isinstance(source, Model) and (isinstance(source, type) or not callable(source)):
        raise AgentError(
            f"ChatModel({source!r}): a model name, a pydantic-ai model, or a function without parameters that makes one"
        )


def _check_limits(limits: object) -> None:
    if not isinstance(limits, UsageLimits):
        raise AgentError(f"ChatModel(usage_limits={limits!r}): UsageLimits, such as UsageLimits(request_limit=10)")
    for name in _UNSUPPORTED_LIMITS:
        if getattr(limits, name):
            raise AgentError(f"ChatModel(usage_limits=UsageLimits({name}=...)): not supported; limit tokens instead")
