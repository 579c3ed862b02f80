import pytest

from parkway.agents import Agent, AgentError, Context, Event, Source, action, build_plan


class Shop(Agent):
    orders = Source("shop.orders", type="order")
    clicks = Source("shop.clicks", format="cloudevents")

    @action("order")
    async def ship(self, event: Event, ctx: Context) -> None: ...


def test_sources_stand_in_the_plan_and_add_nothing_to_accepts():
    plan = build_plan(Shop, "shop:Shop")
    assert [(each.topic, each.type, each.format) for each in plan.sources] == [
        ("shop.orders", "order", "json"),
        ("shop.clicks", None, "cloudevents"),
    ]
    assert "order" not in plan.accepts


def test_a_source_changes_the_build():
    class Other(Shop):
        clicks = None

    assert build_plan(Other, "shop:Shop").build != build_plan(Shop, "shop:Shop").build


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        (("a b",), {"type": "x"}, "a topic's name"),
        (("a",), {}, "needs the type of its events"),
        (("a",), {"format": "avro"}, "needs the type of its events"),
        (("a",), {"type": "x", "format": "jsn"}, "did you mean json"),
        (("a",), {"type": ""}, "1 to 256 characters"),
        (("a",), {"type": "_tool_request_event"}, "never accepted from outside"),
        (("a",), {"type": "_tool_requst_event"}, "did you mean _tool_request_event"),
    ],
)
def test_what_makes_no_sense_is_refused_at_its_line(arguments, options, said):
    with pytest.raises(AgentError, match=said):
        Source(*arguments, **options)


def test_two_sources_of_one_topic_are_refused():
    with pytest.raises(AgentError, match="first and second both read topic 'a'"):
        type("Twice", (Agent,), {"first": Source("a", type="x"), "second": Source("a", type="y")})
