"""`parkway plan build`: from an agent to the plan that a router needs."""

from pydantic import ValidationError

from parkway.agents.agent import Agent, Definition, definition_of
from parkway.agents.decision_model import DecisionModel
from parkway.agents.errors import AgentError
from parkway.agents.triggers import accepted_types, planned_triggers
from parkway.agents.vector_store import VectorStore
from parkway.schemas.event_types import DEFAULT_ACCEPTS, EventType
from parkway.schemas.plan import ActionPlan, Plan


def build_plan(agent: type[Agent] | Agent, source: str) -> Plan:
    """Make the plan of an agent; `source` is the MODULE:AGENT it came from.

    The class is enough: nothing is instantiated, no model is opened, no secret is read. Raises AgentError
    that names the action, the trigger and the reason.
    """
    definition = definition_of(agent)
    actions: list[ActionPlan] = []
    accepts = list(DEFAULT_ACCEPTS)
    for spec in definition.actions:
        triggers = planned_triggers(spec)
        accepts += accepted_types(spec, triggers)
        actions.append(
            ActionPlan(
                name=spec.name,
                triggers=tuple(trigger.text for trigger in triggers),
                keeps_state=spec.options.state,
                keeps_steps=spec.options.steps,
            )
        )
    actions += _built_in_actions(definition)
    if not actions:
        raise AgentError(
            f"{source}: {definition.agent} has no actions; add a method with @action, a ChatModel or a DecisionModel"
        )
    try:
        plan = Plan(
            agent=source,
            actions=tuple(actions),
            accepts=tuple(dict.fromkeys(accepts)),
            sources=tuple(each.planned() for each in definition.sources.values()),
            sinks=tuple(each.planned() for each in definition.sinks.values()),
        )
    except ValidationError as error:
        raise AgentError(f"{source}: {error.errors()[0]['msg']}") from error
    return plan.with_build()


def _built_in_actions(definition: Definition) -> list[ActionPlan]:
    actions = []
    if definition.chat_models:
        actions.append(
            ActionPlan(
                name="chat",
                triggers=(EventType.ChatRequestEvent,),
                # Without tools as well: a chat that was parked before they were removed must still end.
                resumed_by=(EventType.ToolResponseEvent, EventType.CancelRequestEvent),
                answers=(EventType.ChatRequestEvent,),
            )
        )
    if definition.tools or definition.mcp_servers:
        asks = any(tool.approval.may_ask for tool in definition.tools.values()) or any(
            server.may_ask for server in definition.mcp_servers
        )
        actions.append(
            ActionPlan(
                name="tool",
                triggers=(EventType.ToolRequestEvent,),
                # What it runs can be cancelled; it parks what a person must allow.
                resumed_by=(
                    EventType.CancelRequestEvent,
                    *((EventType.ApprovalResponseEvent,) if asks else ()),
                ),
                answers=(EventType.ToolRequestEvent,),
            )
        )
    if definition.of(VectorStore):
        actions.append(
            ActionPlan(
                name="retrieval",
                triggers=(EventType.ContextRetrievalRequestEvent,),
                answers=(EventType.ContextRetrievalRequestEvent,),
            )
        )
    if definition.of(DecisionModel):
        actions.append(
            ActionPlan(
                name="decision",
                triggers=(EventType.DecisionRequestEvent,),
                resumed_by=(EventType.CancelRequestEvent,),  # it parks nothing, but a queued one can wait long
                answers=(EventType.DecisionRequestEvent,),
            )
        )
    return actions
