import pytest

from parkway.agents import Agent, AgentError, ChatMessage, ChatModel, ChatRequestEvent, ModelRouter, Prompt


def request(**attributes):
    attributes = {"model": "model", "messages": [ChatMessage.user("hi")], **attributes}
    return ChatRequestEvent(**attributes).to_dict()


def test_the_first_rule_that_is_true_decides():
    router = ModelRouter(
        rules=[("size(messages) > 2", "big"), ("user_context.tier == 'gold'", "good"), ("size(messages) > 1", "never")],
        default="small",
    )
    assert router.choose(request()) == "small"
    assert router.choose(request(messages=[ChatMessage.user("hi")] * 3)) == "big"
    assert router.choose(request(user_context={"tier": "gold"})) == "good"
    assert router.choose(request(user_context={"tier": None})) == "small"
    assert router.models == ("big", "good", "never", "small")


@pytest.mark.parametrize(
    "rule", ["user_context.tier == 'gold'", "messages[5].role == 'user'", "1 / size(messages) > 0"]
)
def test_a_rule_without_a_value_is_not_true(rule):
    assert ModelRouter(rules=[(rule, "big")], default="small").choose(request(messages=[])) == "small"


@pytest.mark.parametrize("attributes", [None, {}, {"messages": 7}])
def test_a_request_may_be_anything(attributes):
    router = ModelRouter(rules=[("size(messages) > 2", "big")], default="small")
    assert router.choose({"id": "1", "type": "_chat_request_event", "attributes": attributes or {}}) == "small"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rules": [("size(messages) >", "big")], "default": "small"}, "the rule for 'big'"),
        ({"rules": [("size(messages)", "big")], "default": "small"}, "the rule for 'big'"),
        ({"rules": [("size(mesages) > 1", "big")], "default": "small"}, r"reads 'mesages' \(did you mean messages\?\)"),
        ({"rules": [("true",)], "default": "small"}, "pairs of a CEL expression"),
        ({"rules": "true", "default": "small"}, "pairs of a CEL expression"),
        ({"default": ""}, "the name of a ChatModel"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments, message):
    with pytest.raises(AgentError, match=message):
        ModelRouter(**arguments)


def test_the_agent_must_have_what_a_router_and_a_model_name():
    with pytest.raises(AgentError, match=r"Bad\.model: no ChatModel is called 'smal' \(did you mean small\?\)"):

        class Bad(Agent):
            small = ChatModel("test")
            model = ModelRouter(default="smal")

    with pytest.raises(AgentError, match=r"Nested\.outer: no ChatModel is called 'inner'"):

        class Nested(Agent):
            small = ChatModel("test")
            inner = ModelRouter(default="small")
            outer = ModelRouter(default="inner")

    with pytest.raises(AgentError, match=r"Worse\.small: no Prompt is called 'triag' \(did you mean triage\?\)"):

        class Worse(Agent):
            triage = Prompt("Be brief.")
            small = ChatModel("test", prompt="triag")
