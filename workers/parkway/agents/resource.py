"""`Resource`: what an agent uses, as a class attribute: a model, a store, a prompt, a topic of somebody else's."""


class Resource:
    """Base of what stands in an agent's class beside its actions; it is named by its attribute there.

    A resource describes: it holds no connection and reads no secret until a worker opens it, so that a plan can be
    built anywhere.
    """

    async def close(self) -> None:
        """Close what this process has opened of it. Called when a worker ends; does nothing by default."""
