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
            raise ValueError(f"namespace {self.namespace!r}: use 1 to 64 lower-case letters, digits, dots and dashes")

    @property
    def requests(self) -> str:
        return f"{self.namespace}.requests"

    @property
    def events(self) -> str:
        return f"{self.namespace}.events"

    @property
    def outputs(self) -> str:
        return f"{self.namespace}.outputs"

    @property
    def parked(self) -> str:
        return f"{self.namespace}.parked"

    @property
    def dlq(self) -> str:
        return f"{self.namespace}.dlq"

    def action(self, name: str) -> str:
        """New work of an action."""
        return f"{self.namespace}.action.{name}"

    def resume(self, name: str) -> str:
        """Continuations of what an action parked."""
        return f"{self.namespace}.resume.{name}"

    @property
    def router_group(self) -> str:
        return f"{self.namespace}.router"

    def worker_group(self, action: str) -> str:
        return f"{self.namespace}.worker.{action}"
