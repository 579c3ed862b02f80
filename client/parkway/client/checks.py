"""What a call passes, checked in the caller's thread: what librdkafka refuses would otherwise end up in ours."""

from collections.abc import Mapping
from typing import Any, Final

from parkway.client.errors import ClientError
from parkway.schemas.events import Event
from parkway.schemas.headers import KEPT_FROM_OUTSIDE

_LONGEST: Final = 10 * 365 * 86_400.0  # seconds: the clocks of threads and event loops take no much longer times


def check_event(event: Any) -> None:
    """Raise ClientError for what is no Event."""
    if not isinstance(event, Event):
        raise ClientError(f"event: an Event, not {type(event).__name__}; of a dict, Event.from_dict() makes one")


def check_key(key: Any) -> None:
    """Raise ClientError for what is no record key."""
    if not (key is None or isinstance(key, bytes) or (isinstance(key, str) and _is_unicode(key))):
        raise ClientError(f"key: text, bytes or None, not {_named(key)}")


def check_timeout(seconds: Any) -> None:
    """Raise ClientError for what is no time. Zero and less are over at once."""
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if seconds is not None and not (number and seconds <= _LONGEST):  # NaN is not, either
        raise ClientError(f"timeout: seconds (ten years at most) or None to wait for ever, not {_named(seconds)}")


def check_headers(extra: Any, ours: frozenset[str]) -> None:
    """Raise ClientError for what is no header, or is not for producers to set; `ours` are set by the client."""
    if extra is None:
        return
    if not isinstance(extra, Mapping):
        raise ClientError(f"headers: a map of names and texts, not {_named(extra)}")
    for name, value in extra.items():
        if not (isinstance(name, str) and _is_unicode(name)):
            raise ClientError(f"headers: a name is text, not {_named(name)}")
        if name in ours or (name.startswith("parkway-") and name not in KEPT_FROM_OUTSIDE):
            kept = ", ".join(sorted(KEPT_FROM_OUTSIDE - ours))
            raise ClientError(f"headers: {name} is not for producers to set; these travel with an event: {kept}")
        if not (isinstance(value, bytes) or (isinstance(value, str) and _is_unicode(value))):
            raise ClientError(f"headers: {name} is text, not {_named(value)}")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True


def _named(value: Any) -> str:
    return f"{value!a} ({type(value).__name__})"
