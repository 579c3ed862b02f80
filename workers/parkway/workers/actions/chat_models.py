"""The chat models of an agent, as chat requests name them: by their own name, or by a router's."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from parkway.agents.chat_model import ChatModel
from parkway.agents.errors import did_you_mean
from parkway.agents.mcp_server import MCPServer
from parkway.agents.model_router import ModelRouter
from parkway.agents.prompt import Prompt
from parkway.agents.retry import Retry
from parkway.schemas.errors import ErrorType
from parkway.schemas.json_form import short
from parkway.workers.actions import chat_answers
from parkway.workers.actions.backends import Backends
from parkway.workers.actions.budget import Budget
from parkway.workers.actions.chat_answers import ChatError
from parkway.workers.actions.opening import Opening
from parkway.workers.actions.toolbox import Toolbox, ToolSource
from parkway.workers.effects import Task
from parkway.workers.limiter import Limiter


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A chat model with what a worker needs to ask it. Shared by all requests, keeps nothing about any."""

    name: str
    chat: ChatModel[Any]
    prompt: Prompt | None
    toolbox: Toolbox
    backends: Backends
    budget: Budget
    limiter: Limiter | None


class ChatModels:
    """Finds the model of a request; the choice of a router stays with the request, which is parked with it."""

    def __init__(
        self,
        models: Mapping[str, ChatModel[Any]],
        routers: Mapping[str, ModelRouter],
        prompts: Mapping[str, Prompt],
        limiters: Mapping[str, Limiter],
        sources: Mapping[MCPServer, ToolSource],
        *,
        backoff: Retry,
        quote: bool,
    ) -> None:
        self._routers = dict(routers)
        self._served: dict[str, ServedModel] = {}
        for name, chat in models.items():
            prompt = prompts[chat.prompt] if isinstance(chat.prompt, str) else chat.prompt
            tools = Toolbox({tool.name: tool for tool in chat.tools}, [sources[server] for server in chat.mcp_servers])
            budget, limiter = Budget(chat.usage_limits), limiters.get(name)
            backends = Backends(name, chat, backoff=backoff, quote=quote, budget=budget, limiter=limiter)
            self._served[name] = ServedModel(name, chat, prompt, tools, backends, budget, limiter)

    async def open(self) -> dict[str, list[Opening]]:
        """Make every model and fallback that is not made yet."""
        return {name: await served.backends.open() for name, served in self._served.items()}

    def of(self, task: Task) -> ServedModel:
        """The model that answers. Raises ChatError (`unknown_model`)."""
        name = self._name(task)
        served = self._served.get(name) if isinstance(name, str) else None
        if served is None:
            known = [*self._served, *self._routers]
            hint = did_you_mean(str(name), known) or f"; there are: {', '.join(known) or 'none'}"
            raise ChatError(ErrorType.UNKNOWN_MODEL, f"no chat model is called {short(name)}{hint}")
        return served

    def limiter(self, task: Task) -> Limiter | None:
        """The limits of the model that a task will ask, for a request whose attributes may be anything."""
        name = self._name(task)
        served = self._served.get(name) if isinstance(name, str) else None
        return served.limiter if served is not None else None

    def _name(self, task: Task) -> Any:
        if task.parked is not None and (chosen := task.parked.state.get("chat_model")) is not None:
            return chosen
        request = chat_answers.request_of(task)
        attributes = request.get("attributes")
        name = attributes.get("model") if isinstance(attributes, Mapping) else None
        router = self._routers.get(name) if isinstance(name, str) else None
        return name if router is None else router.choose(request)
