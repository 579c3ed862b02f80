"""Application data that a request carries and its response brings back unchanged (DESIGN 4.2)."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from parkway.schemas.json_form import EventError, json_form, short

# Absent and None are the same: no context. `{}` is a context.
UserContext: TypeAlias = dict[str, Any] | None


def attach(value: Mapping[str, Any] | None, *, depth: int = 2) -> UserContext:
    """A deep copy of `value` in JSON form; `depth` is how many maps and lists will enclose it.

    Event classes do the same when they are constructed. Raises EventError with the path of what cannot be
    written, such as `user_context.a[2].b`.
    """
    if value is None:
        return None
    form = json_form(value, "user_context", depth)
    if not isinstance(form, dict):
        raise EventError(f"user_context: expected a map, got {short(value)}")
    return form
