"""What is known about a value before any event is there."""

from enum import Enum


class Kind(Enum):
    """The CEL type of an expression; the value is its name in messages."""

    DYN = "anything"  # depends on the event
    OTHER = "a value of another type"  # depends on the event, but is never a boolean: `a / b`
    NEVER = "no value"  # an error for every event
    NULL = "null"
    BOOL = "a boolean"
    INT = "an int"
    UINT = "a uint"
    DOUBLE = "a double"
    STRING = "a string"
    BYTES = "bytes"
    LIST = "a list"
    MAP = "a map"
    TIMESTAMP = "a timestamp"
    DURATION = "a duration"
    TYPE = "a type"
