"""Makes the JSON value of what a tool returned, and keeps it within bounds."""

from typing import Any, Final

from parkway.schemas import jsonio
from parkway.schemas.json_form import json_form

MAX_RESULT_BYTES: Final = 200_000
_DEPTH_IN_EVENT: Final = 3  # the event, its attributes, `responses`


def json_result(value: Any, limit: int = MAX_RESULT_BYTES) -> Any:
    """The JSON form of `value`; when it has more than `limit` bytes, the beginning of its text with a note.

    Raises EventError that names the place of a value without JSON form.
    """
    form = json_form(value, "result", _DEPTH_IN_EVENT)
    encoded = jsonio.dumps(form)
    if len(encoded) <= limit:
        return form
    text = form.encode() if isinstance(form, str) else encoded
    beginning = text[:limit].decode("utf-8", "ignore")
    return f"{beginning}\n[cut: the result has {len(text):,} bytes, the limit is {limit:,}]"
