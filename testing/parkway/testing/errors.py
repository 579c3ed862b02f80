"""What a test of an agent can go wrong by."""

from parkway.schemas.errors import ParkwayError


class AgentTestError(ParkwayError):
    """The test asks for something that does not go; the message says what does."""


class NotQuietError(AssertionError):
    """The agent did not come to rest; the message says what is in flight."""


class ScriptError(AssertionError):
    """A scripted model was asked for more than its script says; the message names the request."""
