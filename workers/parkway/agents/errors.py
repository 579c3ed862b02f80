"""The errors of an agent's definition, and the hint that goes into them."""

from collections.abc import Iterable
from difflib import get_close_matches

from parkway.schemas.errors import ParkwayError


class AgentError(ParkwayError, ValueError):
    """An agent that cannot be loaded or run as it is written; the message names the place and the way out."""


class ContextError(RuntimeError):
    """A `Context` used where it does not work: after its handler returned."""


class ToolArgumentsError(ValueError):
    """Arguments that do not fit a tool's schema; the message is made for the model to read."""


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return ` (did you mean X?)` for the candidate closest to `name`, or nothing."""
    by_lower = {candidate.lower(): candidate for candidate in candidates}
    close = get_close_matches(name.lower(), by_lower, n=1)
    return f" (did you mean {by_lower[close[0]]}?)" if close else ""
