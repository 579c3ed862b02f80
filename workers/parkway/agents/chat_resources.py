"""Whether what an agent's chat models and model routers name is there."""

from collections.abc import Mapping
from typing import Any

from parkway.agents.chat_model import ChatModel
from parkway.agents.errors import AgentError, did_you_mean
from parkway.agents.model_router import ModelRouter
from parkway.agents.prompt import Prompt
from parkway.agents.resource import Resource


def check_chat_resources(agent: str, resources: Mapping[str, Resource]) -> None:
    """Raise AgentError for a prompt or a chat model that the agent does not have."""
    models = _named(resources, ChatModel)
    prompts = _named(resources, Prompt)
    for name, model in models.items():
        if isinstance(model.prompt, str) and model.prompt not in prompts:
            raise AgentError(f"{agent}.{name}: no Prompt is called {model.prompt!r}{_hint(model.prompt, prompts)}")
    for name, router in _named(resources, ModelRouter).items():
        for model_name in router.models:
            if model_name not in models:
                raise AgentError(f"{agent}.{name}: no ChatModel is called {model_name!r}{_hint(model_name, models)}")


def _named(resources: Mapping[str, Resource], kind: type[Resource]) -> dict[str, Any]:
    return {name: each for name, each in resources.items() if isinstance(each, kind)}


def _hint(name: str, known: Mapping[str, object]) -> str:
    return did_you_mean(name, known) or f"; there are: {', '.join(known) or 'none'}"
