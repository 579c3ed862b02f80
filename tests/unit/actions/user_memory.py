"""A handler that remembers: run over a record, with what it left the last time."""

from pydantic import BaseModel

from parkway.agents import Agent, action, definition_of
from parkway.agents.sink import plain_writer
from parkway.workers.actions.user import UserAction
from parkway.workers.effects import Task


class Tally(BaseModel):
    count: int = 0


async def run(handler, *, key=b"k", given=None, log=None, sinks=None, **options):
    """One attempt; `given` is the state that is committed, `log` the steps."""
    cls = type("Support", (Agent,), {"handle": action("ticket", **options)(handler), **(sinks or {})})
    writers = {sink: plain_writer(sink, "/Support") for sink in definition_of(cls).sinks.values()}
    user = UserAction(cls(), definition_of(cls).action("handle"), sinks=writers, max_state_bytes=200)
    event = {"id": "e1", "type": "ticket", "attributes": {}}
    return await user.handle(Task(event, 0, record_key=key, state=given, steps=log, since=2**50, root_id="r1"))


async def why(handler, **options) -> str:
    effects = await run(handler, **options)
    assert effects.failure is not None
    assert effects.state is None
    return effects.failure.message
