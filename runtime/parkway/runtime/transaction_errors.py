"""How a transaction ends that does not commit, and what its owner knows then."""

from collections.abc import Sequence


class TransactionError(Exception):
    """Base: the transaction did not commit."""


class AbortedError(TransactionError):
    """Known to be aborted; nothing of it is visible. The same records may be produced again."""


class RecordRefusedError(AbortedError):
    """Known to be aborted, because Kafka refused records. `guilty`: their positions, empty when not known."""

    def __init__(self, message: str, guilty: Sequence[int]) -> None:
        super().__init__(message)
        self.guilty = tuple(guilty)


class GroupFencedError(AbortedError):
    """Known to be aborted: the consumer group has moved on; results of this epoch must be dropped."""


class FatalTransactionError(TransactionError):
    """The producer is dead (`fenced`, or worse). The outcome of its last transaction is not known."""

    def __init__(self, message: str, *, fenced: bool = False) -> None:
        super().__init__(message)
        self.fenced = fenced
