"""An agent's whole installation for a test: topics, a router, workers, on a real Kafka."""

from parkway.testing.stack.results import Dead, Result
from parkway.testing.stack.stack import Stack, StackError, open_stack

__all__ = ["Dead", "Result", "Stack", "StackError", "open_stack"]
