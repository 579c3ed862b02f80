"""What went wrong at a model provider: the error type to report, whether to try again, and when."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pydantic_ai import exceptions as ai
from pydantic_ai.models import Model

from parkway.schemas import jsonio
from parkway.schemas.errors import ErrorType

# Request timeout, lock timeout, too early, too many requests: what the SDKs retry besides 5xx.
_RETRYABLE_STATUS: Final = frozenset({408, 409, 425, 429})
_MAX_QUOTE: Final = 2_000
_SHORTEST_KEY: Final = 8  # local servers take any: "x" is no secret, and stands in every text
_ADAPTERS: Final = frozenset({"pydantic_ai", "openai", "anthropic"})
_KEY_LIKE: Final = re.compile(r"(?i)\bbearer\s+\S+|\b(?:sk|gsk|xai)[-_][\w*.-]{6,}|\bAIza[\w*-]{10,}")


@dataclass(frozen=True, slots=True)
class CallError:
    """One failed model call. `retry_after` is in seconds, None when the provider named no time.

    `final`: neither a retry nor another model is asked, as after a refusal.
    """

    type: ErrorType
    message: str
    retryable: bool = False
    retry_after: float | None = None
    final: bool = False


def classify(error: BaseException, label: str, *, quote: bool = False, secrets: Iterable[str] = ()) -> CallError:
    """Exception of a model call -> CallError. `quote` adds the provider's body to the message, less keys."""
    if isinstance(error, ai.FallbackExceptionGroup):
        # The user gave a model of several; one that may answer next time makes the whole worth another try.
        errors = [classify(one, label, quote=quote, secrets=secrets) for one in error.exceptions]
        return next((one for one in errors if one.retryable), errors[-1])
    message = f"model {label!r}: {_kind(error)}"
    if quote:
        message += f": {text}" if (text := quoted(error, secrets)) else ""
    kind = _error_type(error)
    return CallError(
        kind, message, _retryable(error), getattr(error, "retry_after", None), final=kind is ErrorType.REFUSED
    )


def secrets_of(model: Model) -> tuple[str, ...]:
    """The API key that a model's client carries, so that it can be kept out of messages."""
    key = getattr(getattr(model, "client", None), "api_key", None)
    return (key,) if isinstance(key, str) and len(key) >= _SHORTEST_KEY else ()


def _kind(error: BaseException) -> str:
    """The class and the status code; neither holds content."""
    status = getattr(error, "status_code", None)
    name = "timed out" if isinstance(error, TimeoutError) else type(error).__name__
    return f"{name}, HTTP {status}" if isinstance(status, int) else name


def _error_type(error: BaseException) -> ErrorType:
    match error:
        case ai.ContentFilterError():
            return ErrorType.REFUSED
        case ai.ModelContextWindowExceededError():
            return ErrorType.CONTEXT_TOO_LONG
        case ai.ModelQuotaExceededError():
            return ErrorType.PROVIDER_ERROR  # a 429 for some, but waiting does not help
        case ai.ModelRateLimitError() | ai.ModelHTTPError(status_code=429):
            return ErrorType.RATE_LIMITED
        case TimeoutError() | ai.ModelTimeoutError() | ai.ModelRequestTimeout():
            return ErrorType.TIMEOUT
        case ai.AgentRunError() | ai.UserError() | ImportError() | ConnectionError():
            return ErrorType.PROVIDER_ERROR
    return ErrorType.PROVIDER_ERROR if _stumbled(error) else ErrorType.INTERNAL


def _retryable(error: BaseException) -> bool:
    match error:
        case ai.ModelQuotaExceededError():
            return False
        case ai.ModelHTTPError():
            if error.provider_retry_hint is not None:
                return error.provider_retry_hint
            return error.status_code in _RETRYABLE_STATUS or error.status_code >= 500
        case ai.ModelRateLimitError() | ai.ModelUnavailableError() | ai.ModelServerError():
            return True
        case ai.ModelConnectionError() | ai.ModelRequestTimeout() | TimeoutError() | ConnectionError():
            return True
        case ai.ContentFilterError() | ai.ModelRequestRejectedError():
            return False
        case ai.ModelAPIError() | ai.UnexpectedModelBehavior():
            return True  # a reply that is no JSON, or none of this API's: what a proxy sends, or half of one
    return _stumbled(error)


def _stumbled(error: BaseException) -> bool:
    """Whether an adapter fell over a reply of another shape: some read it without a check."""
    if not isinstance(error, AttributeError | LookupError | TypeError | ValueError):
        return False
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = str(trace.tb_frame.f_globals.get("__name__", "")) if trace is not None else ""
    return module.partition(".")[0] in _ADAPTERS


def quoted(error: BaseException, secrets: Iterable[str]) -> str:
    """What the provider said, which may quote the conversation; less keys."""
    if isinstance(error, ai.ModelAuthenticationError):
        return ""
    body = getattr(error, "body", None)
    text = body if isinstance(body, str) else _json(body) if body is not None else str(error)
    for secret in secrets:
        text = text.replace(secret, "***")
    return _KEY_LIKE.sub("***", text)[:_MAX_QUOTE]


def _json(body: object) -> str:
    try:
        return jsonio.dumps(body).decode()
    except TypeError:
        return repr(body)
