"""The marker of a replay in `<ns>.dlq`: which dead records of its partition were put back.

It is written in the transaction that puts them back, so that none is put back twice, and it stands behind them in their
own partition, so that it is kept as long as they are.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from parkway.schemas import headers
from parkway.schemas.errors import DlqReason
from parkway.schemas.headers import Headers
from parkway.schemas.versions import RecordError, read_versioned


class ReplayMarkerError(ValueError):
    """A marker that this version cannot read."""


class ReplayMarker(BaseModel):
    """`replayed`: the first and the last offset of each run of records that were put back."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    v: Literal[1] = 1
    replayed: tuple[tuple[int, int], ...] = Field(min_length=1)

    @classmethod
    def of(cls, offsets: list[int]) -> "ReplayMarker":
        """The marker for these offsets."""
        runs: list[tuple[int, int]] = []
        for offset in sorted(offsets):
            if runs and offset == runs[-1][1] + 1:
                runs[-1] = (runs[-1][0], offset)
            else:
                runs.append((offset, offset))
        return cls(replayed=tuple(runs))

    def headers(self) -> Headers:
        """As every record of the DLQ has them: its reason, which no dead record has, and a word for people."""
        count = sum(last - first + 1 for first, last in self.replayed)
        return [
            (headers.ERROR_TYPE, DlqReason.REPLAYED.encode()),
            (headers.ERROR_MESSAGE, f"{count} records of this partition were put back".encode()),
        ]

    def to_json(self) -> bytes:
        return self.model_dump_json().encode()

    @classmethod
    def from_json(cls, data: bytes) -> "ReplayMarker":
        """Read a marker. Raises ReplayMarkerError with the field and the reason."""
        try:
            return read_versioned(cls, data)
        except RecordError as error:
            raise ReplayMarkerError(f"replay marker: {error}") from None
