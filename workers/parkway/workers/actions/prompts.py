"""Renders `{name}` in messages from a request's `prompt_args`."""

import re
from collections.abc import Mapping
from typing import Any, Final

from parkway.schemas import jsonio

_PLACEHOLDER: Final = re.compile(r"\{([^{}]+)\}")


def render(text: str, arguments: Mapping[str, Any]) -> str:
    """Put arguments in the place of their `{name}`, in one pass: what an argument brings in is not rendered.

    Strings stand as they are, other values as JSON. A name without an argument stays, braces included, so
    that JSON and code in a prompt survive. No attribute or index access: `{a.b}` is the argument `a.b`.
    """

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name not in arguments:
            return match[0]
        argument = arguments[name]
        return argument if isinstance(argument, str) else jsonio.dumps(argument).decode()

    return _PLACEHOLDER.sub(value, text)
