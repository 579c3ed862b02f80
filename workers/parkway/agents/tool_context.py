"""`ToolContext`: what a tool may know of the call beside what the model sent."""

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Of one call. A tool gets it by a parameter with this annotation, or single members by `injected=[...]`.

    `idempotency_key` is the same when the call runs again after a crash, and never that of another call. `deadline`
    (UTC) is the request's. `tenant` and `subject` come from the headers `parkway-tenant` and `parkway-subject` of the
    event from outside that everything began with; nobody has checked them. The model sees and sets none of it.
    """

    tool: str
    request_id: str  # of the tool request
    call_id: str
    idempotency_key: str
    deadline: datetime
    tenant: str | None = None
    subject: str | None = None

    def available(self) -> dict[str, Any]:
        """What `injected` may name: a tenant or subject that is not known is not there."""
        values = {name: getattr(self, name) for name in INJECTABLE}
        return {name: value for name, value in values.items() if value is not None}


INJECTABLE: Final = tuple(field.name for field in fields(ToolContext))
