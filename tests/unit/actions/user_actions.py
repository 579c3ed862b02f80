"""A user action of one handler, and events for it."""

import copy
from dataclasses import replace

from parkway.agents import (
    Agent,
    Retry,
    action,
    definition_of,
)
from parkway.workers.actions.user import UserAction
from parkway.workers.dispatch import now_ms
from parkway.workers.effects import Effects, Task

AT_ONCE = Retry(attempts=3, backoff=0)


def make(handler, *triggers, **options):
    cls = type("Support", (Agent,), {"handle": action(*(triggers or ("ticket",)), **options)(handler)})
    return UserAction(cls(), definition_of(cls).action("handle"))


def task(attributes=None, event_type="ticket", **kwargs):
    event = {"id": "e1", "type": event_type, "attributes": attributes or {}}
    return Task(event, **{"deadline": 0, "since": now_ms(), **kwargs})


async def run(handler, the_task=None, waits=None, **options):
    """Attempt by attempt, as a worker does, but without the waits in between."""
    user, current = make(handler, **options), the_task or task()
    event = copy.deepcopy(current.event)  # a worker decodes it anew: an action may change what it is given
    while True:
        effects = await user.handle(current)
        if effects.again is None:
            return effects
        if waits is not None:
            waits.append(effects.again)
        assert effects == Effects(again=effects.again)
        current = replace(current, event=copy.deepcopy(event), attempt=current.attempt + 1)
