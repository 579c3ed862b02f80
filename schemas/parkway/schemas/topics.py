"""Names of the topics and consumer groups of one installation (DESIGN 3)."""

import re
from dataclasses import dataclass
from typing import Final

_NAMESPACE: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,62}[a-z0-9])?")
ACTION_NAME: Final = re.compile(r"[a-z0-9-]{1,64}")


@dataclass(frozen=True, slots=True)
class Topics:
    """Topic names under one namespace, such as `parkway.requests`.

    Raises ValueError for a namespace that is no lower-case topic prefix.
    """

    namespace: str = "parkway"

    def __post_init__(self) -> None:
        if not _NAMESPACE.fullmatch(self.namespace):
            raise ValueError(f"namespace {self.namespace!r}: 1 to 64 lower-case letters, digits, dots and dashes")

    @property
    def requests(self) -> str:
        """What comes from outside, untrusted. Any producer may write here, and only here."""
        return f"{self.namespace}.requests"

    @property
    def events(self) -> str:
        """What actions send, trusted. Written by workers; by the router the failed responses to what it refuses."""
        return f"{self.namespace}.events"

    @property
    def outputs(self) -> str:
        """Output events, and the responses to requests from outside. Read it with isolation.level=read_committed."""
        return f"{self.namespace}.outputs"

    def action(self, name: str) -> str:
        """New work of an action: the events that triggered it. Written by the router."""
        return f"{self.namespace}.action.{name}"

    def resume(self, name: str) -> str:
        """Continuations of what an action parked. Written by the router."""
        return f"{self.namespace}.resume.{name}"

    @property
    def parked(self) -> str:
        """What requests remember between two steps, compacted; the key is `<request id>/<action>`."""
        return f"{self.namespace}.parked"

    @property
    def state(self) -> str:
        """State of user actions, compacted; the key is `<action>/<record key>`."""
        return f"{self.namespace}.state"

    @property
    def journal(self) -> str:
        """One record per model call, tool call, decision and approval."""
        return f"{self.namespace}.journal"

    @property
    def plans(self) -> str:
        """The plan in force, compacted, one partition; the key is the namespace."""
        return f"{self.namespace}.plans"

    @property
    def dlq(self) -> str:
        """Records that cannot be handled, with the reason in headers."""
        return f"{self.namespace}.dlq"

    def is_ours(self, topic: str) -> bool:
        """Whether a topic of that name is, or would be, this installation's."""
        own = {self.requests, self.events, self.outputs, self.parked, self.state, self.journal, self.plans, self.dlq}
        return topic in own or topic.startswith((self.action(""), self.resume("")))

    @property
    def router_group(self) -> str:
        return f"{self.namespace}.router"

    def worker_group(self, action: str) -> str:
        return f"{self.namespace}.worker.{action}"
