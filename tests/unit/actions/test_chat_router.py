"""Requests that name a model router."""

from typing import Any

from chats import ask, calls, chat_actions, failure_of, lookup_then, new, response_of, resume, says, scripted, sent

from parkway.agents import ChatMessage, ModelRouter
from parkway.workers.effects import Task
from parkway.workers.model_limits import limiter_of

ROUTER = ModelRouter(rules=[("size(messages) > 1", "big")], default="small")
LONG = [ChatMessage.user("hello"), ChatMessage.user("again")]


def routed(**models: Any) -> Any:
    return chat_actions(models, routers={"assistant": ROUTER})


async def test_the_response_says_which_model_answered() -> None:
    action = routed(small=scripted(lambda *_: says("s"), "small-1"), big=scripted(lambda *_: says("b"), "big-1"))
    small = response_of(await action.handle(new(ask()))).response
    big = response_of(await action.handle(new(ask(messages=LONG)))).response
    named = response_of(await action.handle(new(ask(model="big")))).response
    assert [
        (each.content, each.extra_args["model"], each.extra_args["model_name"]) for each in (small, big, named)
    ] == [
        ("s", "small", "small-1"),
        ("b", "big", "big-1"),
        ("b", "big", "big-1"),
    ]


async def test_the_choice_holds_for_all_rounds_and_on_another_worker() -> None:
    def worker() -> Any:
        return routed(small=scripted(lambda *_: says("wrong")), big=scripted(lookup_then("done")))

    task = new(ask(messages=LONG))
    effects = await worker().handle(task)
    assert sent(effects).model == "big"
    assert effects.park is not None
    assert effects.park.state["chat_model"] == "big"
    resumed = resume(task, effects)
    assert resumed.parked is not None
    other = chat_actions(  # a router that would choose otherwise by now
        {"small": scripted(lambda *_: says("wrong")), "big": scripted(lookup_then("done"))},
        routers={"assistant": ModelRouter(default="small")},
    )
    response = response_of(await other.handle(resumed))
    assert response.response.content == "done"
    assert response.response.extra_args["model"] == "big"


async def test_a_parked_choice_that_is_gone_is_an_unknown_model() -> None:
    task = new(ask(messages=LONG))
    effects = await routed(small=scripted(lookup_then("x")), big=scripted(lookup_then("x"))).handle(task)
    gone = chat_actions({"small": scripted(lookup_then("x"))}, routers={"assistant": ModelRouter(default="small")})
    message = failure_of(await gone.handle(resume(task, effects)), "unknown_model")
    assert "'big'" in message
    assert "there are: small, assistant" in message


async def test_what_an_older_version_parked_goes_on_with_the_model_that_its_request_names() -> None:
    task = new(ask())
    action = chat_actions({"assistant": scripted(lookup_then("done"))})
    resumed = resume(task, await action.handle(task))
    assert resumed.parked is not None
    del resumed.parked.state["chat_model"]
    del resumed.parked.state["tally"]["tool_calls"]
    assert response_of(await action.handle(resumed)).response.content == "done"


async def test_a_task_is_limited_as_the_model_that_it_will_ask() -> None:
    models = {
        "small": scripted(lambda *_: calls("ada"), requests_per_minute=1),
        "big": scripted(lambda *_: calls("ada"), requests_per_minute=1),
    }
    limiters = {name: limiter_of(name, model) for name, model in models.items()}
    action = chat_actions(models, routers={"assistant": ROUTER}, limiters=limiters)
    assert action.limiter(new(ask())) is limiters["small"]
    assert action.limiter(new(ask(messages=LONG))) is limiters["big"]
    assert action.limiter(Task({"id": "1", "type": "x", "attributes": {"model": ["assistant"]}}, 0)) is None
    assert action.limiter(Task({"id": "1", "type": "x"}, 0)) is None
