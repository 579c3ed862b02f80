import pytest
from doc_pages import run_page
from pydantic import BaseModel, ConfigDict, Field

from parkway.agents import (
    Agent,
    AgentError,
    ChatModel,
    ChatRequestEvent,
    ChatResponseEvent,
    DecisionModel,
    DecisionTable,
    Event,
    EventType,
    PgVector,
    VectorStore,
    action,
    build_plan,
    definition_of,
    load_agent,
    tool,
)
from parkway.schemas.event_types import DEFAULT_ACCEPTS
from parkway.schemas.plan import Plan


class Ticket(BaseModel):
    customer: str
    amount: float = 0.0
    kind_of: str = Field(default="x", alias="kind")


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow")


@tool
def lookup(name: str) -> str:
    return name


def agent_with(*triggers, first=Event, **options):
    """An agent with one action `handle`."""

    def handle(self, event, ctx): ...

    handle.__annotations__["event"] = first
    return type("Support", (Agent,), {"handle": action(*triggers, **options)(handle)})


def plan_of(*triggers, **options):
    return build_plan(agent_with(*triggers, **options), "support:Support")


def triggers_of(*triggers, **options):
    return plan_of(*triggers, **options).action("handle").triggers


def refused(*triggers, **options):
    with pytest.raises(AgentError) as caught:
        plan_of(*triggers, **options)
    return str(caught.value)


def test_triggers_without_when_stay_as_they_are():
    assert triggers_of("ticket", " a.b > 1 ", EventType.InputEvent) == ("ticket", "a.b > 1", "_input_event")


def test_when_is_anded_to_each():
    assert triggers_of("ticket", '"order"', "a == 1 || b == 2", when="amount > 100 || vip == true") == (
        "type == 'ticket' && (amount > 100 || vip == true)",
        "type == 'order' && (amount > 100 || vip == true)",
        "(a == 1 || b == 2) && (amount > 100 || vip == true)",
    )


def test_a_comment_in_when_does_not_swallow_the_rest():
    assert triggers_of("ticket", when="amount > 100 // large") == ("type == 'ticket' && (amount > 100 // large\n)",)


def test_when_cannot_close_the_parenthesis():
    assert "when='a == 1) || (true'" in refused("ticket", when="a == 1) || (true")


def test_external_adds_the_types_to_accepts():
    assert plan_of("ticket", external=True).accepts == (*DEFAULT_ACCEPTS, "ticket")
    assert plan_of("ticket", when="a > 1", external=True).accepts == (*DEFAULT_ACCEPTS, "ticket")
    assert plan_of("type == 'ticket' && a > 1", external=True).accepts == (*DEFAULT_ACCEPTS, "ticket")
    assert plan_of(EventType.InputEvent, external=True).accepts == DEFAULT_ACCEPTS
    assert plan_of("ticket").accepts == DEFAULT_ACCEPTS


def test_external_needs_the_types():
    message = refused("amount > 100", external=True)
    assert message.startswith("action 'handle' (Support.handle): trigger 'amount > 100': external=True needs")


@pytest.mark.parametrize("event_type", ["_tool_request_event", "_chat_response_event", "_tool_response_event"])
def test_internal_types_are_never_external(event_type):
    assert f"{event_type} is never accepted from outside" in refused(event_type, external=True)


def test_a_bad_trigger_is_named_with_its_action():
    message = refused("ticket", "type == EventType.InptEvent")
    assert message.startswith("action 'handle' (Support.handle): trigger 'type == EventType.InptEvent': ")
    assert "InputEvent" in message


@pytest.mark.parametrize("trigger", ["a +", "1 + 2", "(flag)", "xs.all(x, x > 1)"])
def test_what_cannot_fire_does_not_build(trigger):
    assert f"trigger {trigger!r}" in refused(trigger)


@pytest.mark.parametrize(
    "trigger",
    [
        "_output_event",
        "type == '_output_event'",
        "type == EventType.OutputEvent",
        "type in ['_output_event', 'a']",
    ],
)
def test_outputs_trigger_nothing(trigger):
    message = refused(trigger)
    assert message.startswith(f"action 'handle' (Support.handle): trigger {trigger!r}")


def test_types_that_begin_with_an_underscore_are_reserved():
    assert "(did you mean _input_event?)" in refused("_inputs_event")


def test_names_in_when_are_fields_of_the_model():
    assert triggers_of("t", first=Ticket, when="amount > 1 && has(kind) && customer != id")
    message = refused("t", first=Ticket, when="amonut > 1")
    assert message == (
        "action 'handle' (Support.handle): when='amonut > 1': Ticket has no field 'amonut' (did you mean amount?)"
    )
    assert "no field 'kind_of'" in refused("t", first=Ticket, when="kind_of == 'a'")
    assert "no field 'x'" in refused("t", first=Ticket, when="attributes.x == 1")
    assert triggers_of("t", first=Loose, when="anything > 1")
    assert triggers_of("t", first=Event, when="anything > 1")


def test_names_in_when_are_attributes_of_the_event_class():
    assert triggers_of("_chat_response_event", first=ChatResponseEvent, when="has(user_context.step) && success")
    message = refused("_chat_response_event", first=ChatResponseEvent, when="succes == true")
    assert "ChatResponseEvent has no field 'succes' (did you mean success?)" in message


def test_when_that_contradicts_its_trigger():
    assert "could never fire" in refused("ticket", when="type == 'order'")


def test_when_is_a_condition():
    assert "a condition, such as" in refused("t", when="urgent")
    assert "when='1 +'" in refused("t", when="1 +")


def test_a_trigger_that_never_fits_the_handler():
    message = refused("ticket", first=ChatResponseEvent)
    assert message.endswith("fires for 'ticket', and the handler takes ChatResponseEvent; annotate it with Event")
    near = refused("chat_respons", first=ChatResponseEvent)
    assert near.endswith(
        "the handler takes ChatResponseEvent (did you mean _chat_response_event?); or annotate it with Event"
    )
    assert triggers_of("_chat_response_event", first=ChatResponseEvent)
    assert triggers_of("amount > 1", first=ChatRequestEvent)


def test_handler_errors_are_said_when_the_plan_is_built():
    assert refused("t", first=int).startswith("Support.handle: parameter 'event': int is neither an event class")


def test_built_ins_as_far_as_resources_need_them():
    class Both(Agent):
        assistant = ChatModel("test", tools=[lookup])

        @action("a")
        def last(self, event, ctx): ...

    class OnlyChat(Agent):
        assistant = ChatModel("test")

    class OnlyTools(Agent):
        find = lookup

    def names(agent):
        return [each.name for each in build_plan(agent, "m:a").actions]

    assert names(Both) == names(Both()) == ["last", "chat", "tool"]
    assert names(OnlyChat) == ["chat"]
    assert build_plan(OnlyChat, "m:a").action("chat").parks
    assert names(OnlyTools) == ["tool"]


def test_decisions_are_planned_when_there_is_somebody_to_decide():
    class Routing(Agent):
        queue = DecisionTable([{"when": "n > 1", "queue": "a"}], default={"queue": "b"})

    plan = build_plan(Routing, "m:a")
    assert [each.name for each in plan.actions] == ["decision"]
    decision = plan.action("decision")
    assert decision.triggers == decision.answers == ("_decision_request_event",)
    assert decision.resumed_by == ("_cancel_request_event",)  # queued and running ones can be cancelled
    assert plan.cancellable == ("decision",)
    assert list(definition_of(Routing).of(DecisionModel)) == ["queue"]


def test_an_agent_without_actions():
    with pytest.raises(
        AgentError, match="m:a: Empty has no actions; add a method with @action, a ChatModel or a DecisionModel"
    ):
        build_plan(type("Empty", (Agent,), {}), "m:a")


def test_the_plan_survives_its_json_and_names_its_build():
    plan = plan_of("ticket", when="amount > 1")
    assert Plan.from_json(plan.to_json()) == plan
    assert plan.build
    assert plan.build != plan_of("ticket", when="amount > 2").build
    assert plan.build == plan_of("ticket", when="amount > 1").build


def test_retrieval_is_planned_only_where_there_is_a_vector_store() -> None:
    class Plain(Agent):
        assistant = ChatModel("test")

    class Rag(Plain):
        docs = VectorStore(PgVector("docs", dsn_env="SURELY_NOT_SET"), embedder="openai:text-embedding-3-small")

    assert build_plan(Plain, "m:Plain").action("retrieval") is None
    planned = build_plan(Rag, "m:Rag").action("retrieval")
    assert planned is not None
    assert planned.triggers == planned.answers == (EventType.ContextRetrievalRequestEvent,)
    assert planned.resumed_by == ()
    assert "SURELY_NOT_SET" not in build_plan(Rag, "m:Rag").to_json().decode()


def test_the_agent_of_the_guide_to_retrieval_loads(tmp_path, monkeypatch):
    run_page("docs/agents/retrieval.md", tmp_path, monkeypatch)
    plan = build_plan(load_agent("rag:Rag"), "rag:Rag")
    assert [each.name for each in plan.actions] == ["search", "ask", "answer", "chat", "retrieval"]
