"""Why something failed: the words that stand in failed responses and in DLQ headers."""

from enum import StrEnum


class ParkwayError(Exception):
    """What its user can mend: a call, a setting, a plan, a topic. The message is one line and says the way out.

    The command line prints it and exits with 2.
    """


class ErrorType(StrEnum):
    """`error.type` of a failed response."""

    PROVIDER_ERROR = "provider_error"  # the provider of the model failed, after retries and fallbacks
    RATE_LIMITED = "rate_limited"  # the provider said 429, after retries and fallbacks
    TIMEOUT = "timeout"  # no answer in time
    CONTEXT_TOO_LONG = "context_too_long"  # the conversation is longer than the model takes
    REFUSED = "refused"  # the model, or the provider's filter, refused
    OUTPUT_INVALID = "output_invalid"  # the answer does not fit output_schema, after retries
    TOOL_ROUNDS_EXCEEDED = "tool_rounds_exceeded"  # more tool rounds than max_tool_rounds
    PARKED_TOO_LARGE = "parked_too_large"  # the conversation outgrew the limit of a parked record
    DEADLINE_EXCEEDED = "deadline_exceeded"  # not finished by its deadline
    CANCELLED = "cancelled"  # ended by a cancellation
    BUDGET_EXCEEDED = "budget_exceeded"  # more tokens than it may use
    UNKNOWN_MODEL = "unknown_model"  # no model of that name in the agent
    BAD_REQUEST = "bad_request"  # attributes that the action cannot read
    NO_ACTION = "no_action"  # no action of the plan takes the request
    INTERNAL = "internal"  # a fault of ours; the message says which


class DlqReason(StrEnum):
    """`parkway-error-type` of a record in the DLQ."""

    INVALID_JSON = "invalid_json"  # not UTF-8, not JSON, a number that is not finite
    INVALID_EVENT = "invalid_event"  # JSON, but not an event: no object, no type, attributes no map ...
    INVALID_AVRO = "invalid_avro"  # bytes that are not what their schema says, or a schema that is none of ours
    UNKNOWN_SCHEMA = "unknown_schema"  # a schema id or a fingerprint that nobody knows
    INVALID_HEADER = "invalid_header"  # a header of ours with a value that cannot be read
    UNSUPPORTED_CONTENT_TYPE = "unsupported_content_type"  # a content-type that is not read
    BAD_ID = "bad_id"  # not 1 to 128 characters of A-Z a-z 0-9 . _ : @ -
    FORBIDDEN_TYPE = "forbidden_type"  # not on the plan's `accepts` list
    UNKNOWN_TYPE = "unknown_type"  # begins with `_` and is not one of ours
    TOO_LARGE = "too_large"  # beyond max_event_bytes, max_string_chars or max_members
    TOO_DEEP = "too_deep"  # beyond max_event_depth
    HOP_LIMIT = "hop_limit"  # a chain of events longer than hop_limit
    BAD_TOKEN = "bad_token"  # noqa: S105  a cancellation or approval without a token, or with one that leads nowhere
    UNKNOWN_REPLY_TOPIC = "unknown_reply_topic"  # not on the plan's list
    TRIGGER_ERROR = "trigger_error"  # only under `on_trigger_error: fail`
    UNDELIVERABLE = "undeliverable"  # Kafka refused the record itself
    NO_ACTION = "no_action"  # a retrieval, or a cancellation, that no action takes: they have no failed form
    DUPLICATE_REQUEST_ID = "duplicate_request_id"  # another request under the id of one that is not finished
    BAD_REQUEST = "bad_request"  # attributes that the action cannot read, and no failed response exists
    ACTION_FAILED = "action_failed"  # the user's code raised, after its retries
    RETRIEVAL_FAILED = "retrieval_failed"  # a vector store could not be queried, after its retries
    DEADLINE_EXCEEDED = "deadline_exceeded"  # a user action or a retrieval was not finished by its deadline
    POISON = "poison"  # the process died while it ran this record and nothing else
    PARKED_UNREADABLE = "parked_unreadable"  # a parked record that this version cannot decode
    REPLAYED = "replayed"  # no dead record: says which records of its partition were put back (`parkway dlq replay`)
