"""Why something failed: the words that stand in failed responses and in DLQ headers."""

from enum import StrEnum


class ParkwayError(Exception):
    """What its user can mend: a call, a setting, a plan, a topic. The message is one line and says the way out.

    The command line prints it and exits with 2.
    """


class ErrorType(StrEnum):
    """`error.type` of a failed response."""

    PROVIDER_ERROR = "provider_error"
    RATE_LIMITED = "rate_limited"
    TIMEOUT = "timeout"
    CONTEXT_TOO_LONG = "context_too_long"
    REFUSED = "refused"
    OUTPUT_INVALID = "output_invalid"
    TOOL_ROUNDS_EXCEEDED = "tool_rounds_exceeded"
    PARKED_TOO_LARGE = "parked_too_large"
    DEADLINE_EXCEEDED = "deadline_exceeded"
    CANCELLED = "cancelled"
    BUDGET_EXCEEDED = "budget_exceeded"
    UNKNOWN_MODEL = "unknown_model"
    BAD_REQUEST = "bad_request"
    NO_ACTION = "no_action"
    INTERNAL = "internal"


class DlqReason(StrEnum):
    """`parkway-error-type` of a record in the DLQ."""

    INVALID_JSON = "invalid_json"  # not UTF-8, not JSON, a number that is not finite
    INVALID_EVENT = "invalid_event"  # JSON, but not an event: no object, no type, attributes no map ...
    INVALID_AVRO = "invalid_avro"  # bytes that are not what their schema says, or a schema that is none of ours
    UNKNOWN_SCHEMA = "unknown_schema"  # a schema id or a fingerprint that nobody knows
    INVALID_HEADER = "invalid_header"  # a header of ours with a value that cannot be read
    UNSUPPORTED_CONTENT_TYPE = "unsupported_content_type"
    BAD_ID = "bad_id"
    FORBIDDEN_TYPE = "forbidden_type"  # not on the plan's `accepts` list
    UNKNOWN_TYPE = "unknown_type"  # begins with `_` and is not one of ours
    TOO_LARGE = "too_large"
    TOO_DEEP = "too_deep"
    HOP_LIMIT = "hop_limit"
    UNKNOWN_REPLY_TOPIC = "unknown_reply_topic"
    TRIGGER_ERROR = "trigger_error"  # only under `on_trigger_error: fail`
    UNDELIVERABLE = "undeliverable"  # Kafka refused the record itself
    NO_ACTION = "no_action"
    DUPLICATE_REQUEST_ID = "duplicate_request_id"
    BAD_REQUEST = "bad_request"  # attributes that the action cannot read, and no failed response exists
    ACTION_FAILED = "action_failed"  # the user's code raised, after its retries
    PARKED_UNREADABLE = "parked_unreadable"
