"""`${NAME}`: values of environment variables, read by workers when they need them, never when a plan is built."""

import os
import re
from collections.abc import Callable, Mapping
from typing import Final

from parkway.agents.errors import AgentError

# `$${` is `${` as text.
_REFERENCE: Final = re.compile(r"\$(\$\{)|\$\{([^}]*)\}")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def variable_of(text: str) -> str | None:
    """The name in a text that is `${NAME}` and nothing else, or None."""
    found = _REFERENCE.fullmatch(text)
    return found[2] if found is not None and found[2] is not None and _NAME.fullmatch(found[2]) else None


def check_references(text: str) -> str:
    """Give the text back. Raises ValueError for a `${...}` that names no variable."""
    for found in _REFERENCE.finditer(text):
        if found[2] is not None and not _NAME.fullmatch(found[2]):
            raise ValueError(f"`${{{found[2]}}}`: the name of an environment variable; as text write `$${{`")
    return text


def filled_later(where: str, values: Mapping[str, str]) -> Mapping[str, str] | Callable[[], Mapping[str, str]]:
    """The values, or a function that reads what they refer to; it raises AgentError for a variable that is not set."""
    if not any("${" in value for value in values.values()):
        return values
    return lambda: {name: _filled(f"{where}: {name}", value) for name, value in values.items()}


def _filled(where: str, text: str) -> str:
    def value(found: re.Match[str]) -> str:
        if found[1] is not None:
            return found[1]
        if found[2] not in os.environ:
            raise AgentError(f"{where}: the environment variable {found[2]} is not set")
        return os.environ[found[2]]

    return _REFERENCE.sub(value, text)
