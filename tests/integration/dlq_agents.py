"""An agent whose handler is mended by a file."""

import os
from pathlib import Path

from parkway.agents import Agent, Context, Event, action


class Mendable(Agent):
    @action("job", external=True)
    async def work(self, event: Event, ctx: Context) -> None:
        if not (Path(os.environ["TEST_NOTES"]) / "mended").exists():
            raise ValueError(f"cannot do {event.attributes['number']}")
        ctx.output({"number": event.attributes["number"]})

    @action("job")
    async def count(self, event: Event, ctx: Context) -> None:
        """The same event fires this one, too: it must not run again."""
        ctx.output({"counted": event.attributes["number"]})
