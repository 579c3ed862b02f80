import functools

import pytest
from pydantic import BaseModel

from parkway.agents import AgentError, ChatResponseEvent, Context, Event
from parkway.agents.handler import binding_of


class Ticket(BaseModel):
    amount: float


class OwnEvent(Event):
    pass


def bind(method):
    return binding_of("Support.triage", method)


def test_what_the_annotation_decides():
    def any_event(self, event, ctx): ...
    def an_event(self, event: Event, ctx: Context) -> None: ...
    def typed(self, event: ChatResponseEvent, ctx: "Context") -> None: ...
    async def model(self, ticket: Ticket, ctx: Context) -> None: ...
    def bare(self, ticket: Ticket) -> None: ...
    def only_context(self, ctx: Context) -> None: ...
    def with_default(self, event, ctx, limit: int = 3) -> None: ...

    assert (bind(any_event).event_class, bind(any_event).model) == (None, None)
    assert (bind(an_event).event_class, bind(an_event).model) == (None, None)
    assert bind(typed).event_class is ChatResponseEvent
    assert bind(model).model is Ticket
    assert not bind(bare).takes_context
    assert bind(only_context).first is None
    assert bind(with_default).takes_context


def test_through_a_decorator():
    def logged(function):
        @functools.wraps(function)
        async def inner(*args):
            return await function(*args)

        return inner

    @logged
    async def handle(self, ticket: Ticket, ctx: Context) -> None: ...

    assert bind(handle).model is Ticket


def no_self(): ...
def only_self(self): ...
def three(self, event, ctx, more): ...
def swapped(self, ctx: Context, event: Event): ...
def second(self, event: Event, ticket: Ticket): ...
def number(self, event: int, ctx: Context): ...
def union(self, event: Ticket | None, ctx: Context): ...
def listed(self, event: list[Ticket], ctx: Context): ...
def missing(self, event: "Missing", ctx): ...  # noqa: F821
def own_class(self, event: OwnEvent, ctx): ...
def keyword(self, event, *, ctx): ...
def generator(self, event, ctx):
    yield event


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        (no_self, "its first parameter is self"),
        (only_self, r"only_self\(self, event, ctx\)"),
        (three, r"\(self, event, ctx, more\): a handler is def three\(self, event, ctx\)"),
        (swapped, "parameter 'ctx': the event comes first, then the Context"),
        (second, "parameter 'ticket': the second is the Context, not Ticket"),
        (number, "int is neither an event class nor a pydantic model"),
        (union, "None is neither an event class nor a pydantic model"),
        (listed, r"Ticket\] is neither an event class nor a pydantic model"),
        (own_class, "OwnEvent is no event class of Parkway; take a pydantic model of the attributes"),
        (missing, "name 'Missing' is not defined"),
        (keyword, "parameter 'ctx': a handler is called by position"),
        (generator, "must not yield"),
    ],
)
def test_signatures_that_are_no_handlers(method, reason):
    with pytest.raises(AgentError, match=rf"^Support\.triage.*{reason}"):
        bind(method)
