"""An agent with other resources and tools than its class says: a class made of it for a test; it stays as it is."""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pydantic_ai.models import Model

from parkway.agents.agent import Agent, Definition, definition_of
from parkway.agents.chat_model import ChatModel, ModelSource
from parkway.agents.errors import did_you_mean
from parkway.agents.resource import Resource
from parkway.agents.tool import Tool
from parkway.testing.errors import AgentTestError

Models = Mapping[str, ModelSource | Sequence[ModelSource] | ChatModel]
Tools = Mapping[str, Callable[..., Any]]
Resources = Mapping[str, Resource]


def with_overrides(
    agent: type[Agent] | Agent, models: Models, tools: Tools, resources: Resources
) -> type[Agent] | Agent:
    """The agent, with these in the place of its own.

    `models`: by attribute, what answers in the place of the ChatModel's model and of its fallbacks (a list: the
    model, then fallbacks); its instructions, tools and limits stay. `tools`: by name, the function that is called in
    the place of the tool's; what a model is told of it stays. `resources`: by attribute, another resource. Raises
    AgentTestError for a name that the agent does not have.
    """
    definition = definition_of(agent)
    replaced: dict[str, Any] = {**_other_tools(agent, definition, tools)}
    by_name = {tool.name: tool for tool in replaced.values() if isinstance(tool, Tool)}
    by_name |= {name: _other_function(definition.tools[name], function) for name, function in tools.items()}
    for name, chat in definition.chat_models.items():
        if any(tool.name in by_name for tool in chat.tools):
            replaced[name] = copy.copy(chat)
            replaced[name].tools = tuple(by_name.get(tool.name, tool) for tool in chat.tools)
    for name, source in models.items():
        chat = _known(definition, "models", name, definition.chat_models)
        replaced[name] = _other_model(replaced.get(name, chat), source)
    for name, resource in resources.items():
        _known(definition, "resources", name, definition.resources)
        if not isinstance(resource, Resource):
            raise AgentTestError(f"resources={{{name!r}: {resource!r}}}: a resource, as it stands in an agent's class")
        replaced[name] = resource
    return _subclass(agent, replaced) if replaced else agent


def scripted(models: Models) -> Iterable[Any]:
    """The models among the overrides, one by one."""
    for source in models.values():
        if isinstance(source, ChatModel):
            yield from source.sources
        elif isinstance(source, Sequence) and not isinstance(source, str):
            yield from source
        else:
            yield source


def _other_tools(agent: type[Agent] | Agent, definition: Definition, tools: Tools) -> dict[str, Tool[..., Any]]:
    """By attribute: the tools that stand in the class themselves."""
    cls = agent if isinstance(agent, type) else type(agent)
    found = {}
    for name, function in tools.items():
        _known(definition, "tools", name, definition.tools)
        for attribute in dir(cls):
            if getattr(cls, attribute, None) is definition.tools[name]:
                found[attribute] = _other_function(definition.tools[name], function)
    return found


def _other_function(tool: Tool[..., Any], function: Callable[..., Any]) -> Tool[..., Any]:
    if not callable(function):
        raise AgentTestError(f"tools={{{tool.name!r}: {function!r}}}: a function, with the tool's parameters")
    other = copy.copy(tool)
    other.function = function.function if isinstance(function, Tool) else function
    return other


def _other_model(chat: ChatModel, source: ModelSource | Sequence[ModelSource] | ChatModel) -> ChatModel:
    if isinstance(source, ChatModel):
        return source
    sources = [source] if isinstance(source, str | Model) or callable(source) else list(source)
    other = copy.copy(chat)
    other.model, other.fallbacks = sources[0], tuple(sources[1:])
    return other


def _known(definition: Definition, where: str, name: str, among: Mapping[str, Any]) -> Any:
    if name not in among:
        hint = did_you_mean(name, list(among)) or f"; there are: {', '.join(among) or 'none'}"
        raise AgentTestError(f"{where}={{{name!r}: ...}}: {definition.agent} has none of that name{hint}")
    return among[name]


def _subclass(agent: type[Agent] | Agent, members: dict[str, Any]) -> type[Agent] | Agent:
    cls = agent if isinstance(agent, type) else type(agent)
    same = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    made: type[Agent] = type(cls.__name__, (cls,), {**same, **members})
    if isinstance(agent, type):
        return made
    one = copy.copy(agent)
    one.__class__ = made
    return one
