"""Where a dead letter goes back, and with what headers.

It goes back to the topic and the partition that it died in, so that it meets exactly what it met there:

| it died in | because | it goes back to |
| --- | --- | --- |
| `requests` | the router refused it | `requests`: it is checked as any other, by the plan in force |
| `events` | the router could not route it | `events`, with its root and lineage |
| `action.x` | the action could not handle it | `action.x`: others that the event fired do not run again |
| `resume.x` | so did a continuation | `resume.x`: it goes on if what waits for it is still parked, else it is ignored |
| a source | the router refused it | that topic, only when asked for: everybody who reads it sees it again |
| `parked` | nobody can read it | nowhere: a worker that owns the partition would not see it |
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from parkway.cli.dlq_topic import DeadLetter
from parkway.runtime.records import Record
from parkway.schemas import headers
from parkway.schemas.errors import DlqReason
from parkway.schemas.topics import Topics

_OF_THE_DLQ = frozenset(
    {
        headers.ORIGIN,
        headers.ATTEMPT,
        headers.ERROR_TYPE,
        headers.ERROR_MESSAGE,
        headers.ERROR_TRACEBACK,
        headers.REPLAYS,
    }
)


@dataclass(frozen=True, slots=True)
class Stays:
    """A dead letter that is not put back, and why: the same words for all of a kind."""

    why: str


@dataclass(frozen=True, slots=True)
class Targets:
    """Decides for an installation. `partitions`: of every topic that there is. `sources`: put those back, too.

    `keep_deadlines`: a deadline that has passed goes back as it is; what it is for then ends at once.
    """

    topics: Topics
    partitions: Mapping[str, int]
    sources: bool = False
    keep_deadlines: bool = False

    def of(self, letter: DeadLetter) -> Record | Stays:
        """The record that puts it back."""
        origin = letter.origin
        if origin is None:
            return Stays("do not say where they came from")
        topic = origin.topic
        if topic == self.topics.parked:
            return Stays("were parked: a worker would not see them; send their requests again")
        if not self.topics.is_ours(topic) and not self.sources:
            return Stays(f"came from the source {topic}, which others may read, too (--sources puts them back there)")
        if letter.truncated or (letter.reason == DlqReason.UNDELIVERABLE and letter.value is None):
            return Stays("were too large for the DLQ: what is left of them is no whole record")
        if self.topics.is_ours(topic) and topic != self.topics.requests and headers.TYPE not in letter.given:
            return Stays("have lost their headers, which were too large for the DLQ")
        if origin.partition >= self.partitions.get(topic, 0):
            return Stays(f"came from {topic}, partition {origin.partition}: there is no such partition now")
        return Record(topic, origin.partition, letter.key, letter.value, self._headers(letter))

    def _headers(self, letter: DeadLetter) -> headers.Headers:
        kept = [(name, value) for name, value in letter.headers if name not in _OF_THE_DLQ]
        deadline = headers.number(letter.given.get(headers.DEADLINE), 0)
        if not self.keep_deadlines and 0 < deadline <= time.time() * 1000:
            kept = [one for one in kept if one[0] != headers.DEADLINE]
        return [*kept, (headers.REPLAYS, str(letter.replays + 1).encode())]
