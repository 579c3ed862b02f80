"""From a planned action to the code behind it."""

from collections.abc import Mapping

from parkway.agents.agent import Agent, Definition, definition_of
from parkway.agents.chat_model import ChatModel
from parkway.agents.decision_model import DecisionModel
from parkway.agents.errors import AgentError
from parkway.agents.model_router import ModelRouter
from parkway.agents.prompt import Prompt
from parkway.agents.retry import ONE_ATTEMPT, Retry
from parkway.agents.sink import Sinks
from parkway.agents.vector_store import VectorStore
from parkway.runtime.settings import Settings
from parkway.schemas.plan import ActionPlan
from parkway.workers.actions.chat import ChatAction
from parkway.workers.actions.decision import DecisionAction
from parkway.workers.actions.mcp_tools import source_of
from parkway.workers.actions.retrieval import RetrievalAction
from parkway.workers.actions.tool import ToolAction
from parkway.workers.actions.user import UserAction
from parkway.workers.effects import Action
from parkway.workers.limiter import Limiter
from parkway.workers.model_limits import limiter_of


def limiters_of(planned: ActionPlan, definition: Definition) -> dict[str, Limiter]:
    """What limits an action: its models' or vector stores' limits by name, or its own rate under its own name."""
    spec = definition.action(planned.name)
    if spec is not None:
        rate = spec.options.rate
        return {spec.name: Limiter(f"action {spec.name}", calls=rate)} if rate is not None else {}
    if planned.name == "retrieval":
        bounds = {name: store.concurrency for name, store in definition.of(VectorStore).items()}
        return {
            name: Limiter(f"vector store {name}", concurrency=bound)
            for name, bound in bounds.items()
            if bound is not None
        }
    models: Mapping[str, ChatModel | DecisionModel] = {}
    if planned.name == "chat":
        models = definition.chat_models
    elif planned.name == "decision":
        models = definition.of(DecisionModel)
    found = {name: limiter_of(name, model) for name, model in models.items()}
    return {name: limiter for name, limiter in found.items() if limiter is not None}


def retry_of(planned: ActionPlan, definition: Definition) -> Retry:
    """The policy by which an action's records wait for their next attempt when another worker takes them over.

    Of several vector stores the most patient one's: which of them a record is about is not known there.
    """
    spec = definition.action(planned.name)
    if spec is not None:
        return spec.options.retry
    policies = [store.retry for store in definition.of(VectorStore).values()] if planned.name == "retrieval" else []
    return max(policies, key=lambda retry: retry.left(retry.attempts, 0.0), default=ONE_ATTEMPT)


def make_action(
    settings: Settings,
    planned: ActionPlan,
    agent: Agent,
    limiters: Mapping[str, Limiter],
    sinks: Sinks | None = None,
) -> Action:
    """The code of one action, for one event loop; `sinks` are the agent's, opened (workers/sinks.py).

    Raises AgentError for an action that the agent does not have.
    """
    definition = definition_of(agent)
    spec = definition.action(planned.name)
    if spec is not None:
        return UserAction(agent, spec, limiters.get(spec.name), sinks=sinks, max_state_bytes=settings.max_state_bytes)
    if planned.name == "chat":
        return ChatAction(
            definition.chat_models,
            routers=definition.of(ModelRouter),
            prompts=definition.of(Prompt),
            sources={server: source_of(server) for server in definition.mcp_servers},
            limiters=limiters,
            capture_content=settings.capture_content,
            max_state_bytes=settings.max_parked_bytes,
        )
    if planned.name == "tool":
        return ToolAction(
            definition.tools,
            sources=[source_of(server) for server in definition.mcp_servers],
            max_state_bytes=settings.max_parked_bytes,
        )
    if planned.name == "retrieval":
        return RetrievalAction(definition.of(VectorStore), limiters=limiters)
    if planned.name == "decision":
        return DecisionAction(definition.of(DecisionModel), limiters=limiters, capture_content=settings.capture_content)
    raise AgentError(f"action {planned.name!r} is in the plan, but not in {definition.agent}: build the plan again")
