"""Tokens of approvals and cancellations: who waits, where, and a secret (DESIGN 7.2)."""

import re
import secrets
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import AfterValidator

from parkway.schemas.json_form import EventError
from parkway.schemas.topics import ACTION_NAME

_SECRET_CHARS: Final = 32
_SECRET: Final = re.compile(rf"[0-9a-f]{{{_SECRET_CHARS}}}")
TOKEN_PATTERN: Final = rf"({ACTION_NAME.pattern})\.(0|[1-9][0-9]{{0,6}})\.({_SECRET.pattern})"
_TOKEN: Final = re.compile(TOKEN_PATTERN)


@dataclass(frozen=True, slots=True)
class Token:
    """`<action>.<partition>.<secret>`: sends an answer to what that action parked in that partition.

    The secret is 128 random bits in hex. It stays out of `repr`, which ends up in logs.
    """

    action: str
    partition: int
    secret: str

    @classmethod
    def new(cls, action: str, partition: int) -> "Token":
        """A fresh token."""
        return cls(action, partition, new_secret())

    @classmethod
    def parse(cls, text: str) -> "Token":
        """Read a token. Raises EventError."""
        match = _TOKEN.fullmatch(text)
        if match is None:
            raise EventError("expected a token <action>.<partition>.<32 hex digits>")
        return cls(match[1], int(match[2]), match[3])

    def matches(self, other: "Token") -> bool:
        """Equal, compared in constant time."""
        return secrets.compare_digest(str(self), str(other))

    def __str__(self) -> str:
        return f"{self.action}.{self.partition}.{self.secret}"

    def __repr__(self) -> str:
        return f"Token({self.action}.{self.partition}.…)"


def new_secret() -> str:
    """128 random bits in hex."""
    return secrets.token_hex(16)


def secret_of(token: str) -> str:
    """The secret of what is known to be a token."""
    return token[-_SECRET_CHARS:]


def is_secret(text: str) -> bool:
    """Is it of the form that `new_secret` gives?"""
    return _SECRET.fullmatch(text) is not None


def _checked(text: str) -> str:
    Token.parse(text)
    return text


# A token in an event: its text, refused when it is none.
TokenText = Annotated[str, AfterValidator(_checked)]
