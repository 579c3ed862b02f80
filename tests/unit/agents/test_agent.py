import pytest

from parkway.agents import Agent, AgentError, ChatModel, Retry, action, definition_of, running, tool


@tool
def lookup(name: str) -> str:
    return name


def names(agent):
    return [spec.name for spec in definition_of(agent).actions]


def test_actions_in_class_order_named_after_their_methods():
    class Issues(Agent):
        @action("b")
        def close_issue(self, event, ctx): ...

        @action("a", name="first")
        def _anything(self, event, ctx): ...

        @action("c")
        def _on_ticket(self, event, ctx): ...

        def helper(self): ...

    assert names(Issues) == names(Issues()) == ["close-issue", "first", "on-ticket"]
    spec = definition_of(Issues).action("close-issue")
    assert (spec.method, spec.where) == ("close_issue", "Issues.close_issue")
    assert spec.options.retry == Retry(attempts=1)
    assert definition_of(Issues).action("helper") is None


def test_resources_are_named_by_their_attribute():
    class Support(Agent):
        assistant = ChatModel("openai:gpt-5-mini", tools=[lookup])
        small = ChatModel("test", tools=[lookup, len_of])

    assert list(definition_of(Support).chat_models) == ["assistant", "small"]
    assert list(definition_of(Support).tools) == ["lookup", "len_of"]


def len_of(text: str) -> int:
    return len(text)


def test_a_subclass_adds_overrides_and_drops():
    class Base(Agent):
        @action("a")
        def one(self, event, ctx): ...

        @action("b")
        def two(self, event, ctx): ...

        @action("c")
        def three(self, event, ctx): ...

    class Child(Base):
        @action("d")
        def four(self, event, ctx): ...

        @action("z")
        def one(self, event, ctx): ...

        two = None

    assert names(Child) == ["one", "three", "four"]
    assert definition_of(Child).action("one").options.triggers == ("z",)
    assert names(Base) == ["one", "two", "three"]


def test_an_override_that_forgets_the_decorator_is_refused():
    class Base(Agent):
        @action("a")
        def one(self, event, ctx): ...

    with pytest.raises(AgentError, match=r"Child\.one overrides an action without being one: repeat"):

        class Child(Base):
            def one(self, event, ctx): ...


def test_two_actions_of_one_name_are_refused():
    with pytest.raises(AgentError, match=r"Twice\.close_issue and Twice\.other are both action 'close-issue'"):

        class Twice(Agent):
            @action("a")
            def close_issue(self, event, ctx): ...

            @action("b", name="close-issue")
            def other(self, event, ctx): ...


@pytest.mark.parametrize("name", ["chat", "tool", "retrieval", "decision"])
def test_built_in_actions_cannot_be_shadowed(name):
    with pytest.raises(AgentError, match=rf"Shadow\.handle: '{name}' is a built-in action .*name='my-{name}'"):

        class Shadow(Agent):
            @action("a", name=name)
            def handle(self, event, ctx): ...

    def method(self, event, ctx): ...

    with pytest.raises(AgentError, match=f"Shadow.{name}: '{name}' is a built-in action"):
        type("Shadow", (Agent,), {name: action("a")(method)})


@pytest.mark.parametrize(
    ("name", "proposal"),
    [("closeIssue", "closeissue"), ("a" * 65, "a" * 64), ("", "other-name"), ("a.b", "a-b")],
)
def test_a_name_that_no_topic_can_have_is_refused(name, proposal):
    with pytest.raises(AgentError, match=rf"Bad\.handle: action name '{name}'.*name='{proposal}'"):

        class Bad(Agent):
            @action("a", name=name)
            def handle(self, event, ctx): ...


def test_two_tools_of_one_name_are_refused():
    other = tool(name="lookup")(len_of)
    with pytest.raises(AgentError, match="Support: two tools are called 'lookup'"):

        class Support(Agent):
            one = ChatModel("test", tools=[lookup])
            two = ChatModel("test", tools=[other])


class NoText:
    pass


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (action, "without a trigger"),
        (lambda: action(when="a > 1"), "without a trigger"),
        (lambda: action(len), "without parentheses"),
        (lambda: action(NoText), "a trigger is text"),
        (lambda: action("a", "  "), r"@action\('  '\)"),
        (lambda: action("a", 3), r"@action\(3\)"),
        (lambda: action("a", when=" "), "when=' '"),
        (lambda: action("a", when=True), "when=True"),
        (lambda: action("a", order="fifo"), "'key' or 'unordered'"),
        (lambda: action("a", concurrency=0), "concurrency=0"),
        (lambda: action("a", rate="fast"), "rate 'fast': a number and s, m, h or d"),
        (lambda: action("a", timeout=0), "timeout=0"),
        (lambda: action("a", deadline="1m"), "deadline='1m'"),
        (lambda: action("a", retry=3), "retry=3"),
        (lambda: action("a")(staticmethod(len)), "@action on a staticmethod"),
        (lambda: action("a")(None), "@action on a NoneType"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_the_decorator(make, message):
    with pytest.raises(AgentError, match=message):
        make()


def test_the_base_class_is_no_agent():
    with pytest.raises(AgentError, match="Agent is the base class"):
        definition_of(Agent)


async def test_lifespan_runs_around_the_work():
    steps = []

    class Pooled(Agent):
        async def lifespan(self):
            steps.append("open")
            yield
            steps.append("close")

    async with running(Pooled()):
        steps.append("work")
    assert steps == ["open", "work", "close"]

    class Plain(Agent):
        pass

    async with running(Plain()):
        pass


def test_a_lifespan_without_a_yield_is_refused():
    with pytest.raises(AgentError, match=r"Pooled\.lifespan: write async def lifespan\(self\) with one yield"):

        class Pooled(Agent):
            async def lifespan(self): ...
