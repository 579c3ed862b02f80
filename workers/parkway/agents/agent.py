"""`Agent`: the base class, and what a class body says about an agent."""

import inspect
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from parkway.agents.action import ActionSpec, options_of, spec_of
from parkway.agents.chat_model import ChatModel
from parkway.agents.chat_resources import check_chat_resources
from parkway.agents.errors import AgentError
from parkway.agents.mcp_server import MCPServer
from parkway.agents.resource import Resource
from parkway.agents.sink import Sink
from parkway.agents.source import Source
from parkway.agents.tool import Tool

Kind = TypeVar("Kind", bound=Resource)


@dataclass(frozen=True, slots=True)
class Definition:
    """What a class says: user actions in class order, resources by attribute, tools by name."""

    agent: str
    actions: tuple[ActionSpec, ...]
    resources: dict[str, Resource]
    tools: dict[str, Tool[..., Any]]

    def of(self, kind: type[Kind]) -> dict[str, Kind]:
        """The resources of that class, by attribute."""
        return {name: each for name, each in self.resources.items() if isinstance(each, kind)}

    @property
    def chat_models(self) -> dict[str, ChatModel[Any]]:
        """Chat models by attribute."""
        return self.of(ChatModel)

    @property
    def sources(self) -> dict[str, Source]:
        """Sources by attribute."""
        return self.of(Source)

    @property
    def sinks(self) -> dict[str, Sink]:
        """Sinks by attribute."""
        return self.of(Sink)

    @property
    def mcp_servers(self) -> tuple[MCPServer, ...]:
        """Those that stand in the class, and those that only a chat model has."""
        of_models = [server for model in self.chat_models.values() for server in model.mcp_servers]
        return tuple(dict.fromkeys([*self.of(MCPServer).values(), *of_models]))

    def action(self, name: str) -> ActionSpec | None:
        """The user action of that name, or None."""
        return next((spec for spec in self.actions if spec.name == name), None)


class Agent:
    """Base class of agents: methods with `@action`, and resources as class attributes.

    One instance serves a process, and its methods may run at the same time. Raises AgentError when the
    class is made, for two actions of one name and the like.
    """

    __parkway__: ClassVar[Definition]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__parkway__ = _definition(cls)

    async def lifespan(self) -> AsyncIterator[None]:
        """Override to open what all handlers share before the `yield`, and to close it after it."""
        yield

    def redact(self, kind: str, content: Any) -> Any:
        """Override to take out of `content` what must not stand in the journal (`PARKWAY_JOURNAL_CONTENT=redacted`).

        `kind` is the journal record's: `model_call`, `tool_call`, `decision` or `approval`; `content` is JSON, and a
        copy. Give back what may stand there. When this raises, nothing does.
        """
        raise NotImplementedError


def definition_of(agent: type[Agent] | Agent) -> Definition:
    """What the agent's class says. Raises AgentError for `Agent` itself."""
    cls = agent if isinstance(agent, type) else type(agent)
    if cls is Agent:
        raise AgentError("Agent is the base class: write class MyAgent(Agent) with a method under @action")
    return cls.__parkway__


def running(agent: Agent) -> AbstractAsyncContextManager[None]:
    """Give the agent's lifespan as a context manager, for `async with` around a worker's work."""
    return asynccontextmanager(agent.lifespan)()


def _definition(cls: type[Agent]) -> Definition:
    if not inspect.isasyncgenfunction(cls.lifespan):
        raise AgentError(f"{cls.__name__}.lifespan: write async def lifespan(self) with one yield, and no decorator")
    members = _members(cls)
    resources = {name: value for name, value in members.items() if isinstance(value, Resource)}
    definition = Definition(
        agent=cls.__name__,
        actions=_actions(cls, members),
        resources=resources,
        tools=_tools(cls, members),
    )
    check_chat_resources(cls.__name__, resources)
    _check_sources(cls, definition.sources)
    _check_sinks(cls, definition)
    return definition


def _members(cls: type[Agent]) -> dict[str, Any]:
    """Class attributes in the order in which they were first defined, base classes first."""
    members: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        for name, value in vars(base).items():
            if callable(value) and options_of(value) is None and options_of(members.get(name)) is not None:
                raise AgentError(
                    f"{base.__name__}.{name} overrides an action without being one: repeat its @action(...) "
                    f"above it, or write {name} = None to drop the action"
                )
            members[name] = value
    return members


def _actions(cls: type[Agent], members: dict[str, Any]) -> tuple[ActionSpec, ...]:
    by_name: dict[str, ActionSpec] = {}
    for method, value in members.items():
        options = options_of(value)
        if options is None:
            continue
        spec = spec_of(cls.__name__, method, value, options)
        if spec.name in by_name:
            raise AgentError(
                f"{by_name[spec.name].where} and {spec.where} are both action {spec.name!r}; "
                f"write @action(..., name='other-name') above one of them"
            )
        by_name[spec.name] = spec
    return tuple(by_name.values())


def _tools(cls: type[Agent], members: dict[str, Any]) -> dict[str, Tool[..., Any]]:
    tools: dict[str, Tool[..., Any]] = {}
    given = [value for value in members.values() if isinstance(value, Tool)]
    given += [each for model in members.values() if isinstance(model, ChatModel) for each in model.tools]
    for each in given:
        known = tools.setdefault(each.name, each)
        if known.function is not each.function:
            raise AgentError(f"{cls.__name__}: two tools are called {each.name!r}; write @tool(name=...) above one")
    return tools


def _check_sources(cls: type[Agent], sources: dict[str, Source]) -> None:
    by_topic: dict[str, str] = {}
    for name, source in sources.items():
        other = by_topic.setdefault(source.topic, name)
        if other != name:
            raise AgentError(f"{cls.__name__}: {other} and {name} both read topic {source.topic!r}; keep one of them")


def _check_sinks(cls: type[Agent], definition: Definition) -> None:
    by_topic: dict[str, str] = {}
    sources = {source.topic: name for name, source in definition.sources.items()}
    for name, sink in definition.sinks.items():
        other = by_topic.setdefault(sink.topic, name)
        if other != name:
            raise AgentError(f"{cls.__name__}: {other} and {name} both write topic {sink.topic!r}; keep one of them")
        if sink.topic in sources:
            raise AgentError(
                f"{cls.__name__}: {sources[sink.topic]} reads topic {sink.topic!r} and {name} writes it: what is sent "
                "there would come back for ever; send to the agent's own actions with ctx.send(event)"
            )
