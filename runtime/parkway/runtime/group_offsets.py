"""Committed offsets of a consumer group, asked by a consumer that is no member of it.

Not by `AdminClient.list_consumer_group_offsets`: while the group's coordinator moves, librdkafka 2.16 kills the
process there with a segmentation fault (librdkafka issue 5040; seen here on the first use of a group). Nor
by leaving it to `assign` without offsets: a fetch that meets a moving coordinator is never repeated, and the
partition stands still (librdkafka issue 5586).

Probed on Kafka 4.4: `committed()` of a `read_committed` consumer does not answer while an offset commit is pending in
somebody's transaction, and answers within milliseconds of its end. Asking again is always right; asking
`read_uncommitted` never is.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from parkway.runtime.clients import manual_consumer
from parkway.runtime.logs import get_logger
from parkway.runtime.settings import Settings

_FOR_PEOPLE: Final = frozenset({KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.TOPIC_AUTHORIZATION_FAILED})


class StableOffsets(Protocol):
    """Answers what a group has committed, and nothing while a transaction holds that pending."""

    def committed(self, partitions: Sequence[TopicPartition], seconds: float) -> list[TopicPartition] | None: ...


class GroupOffsets:
    """One group's committed offsets. One thread at a time calls an object of this class."""

    def __init__(self, settings: Settings, client_id: str, group: str) -> None:
        self._consumer = manual_consumer(settings, client_id, **{"group.id": group})
        self._log = get_logger("offsets").bind(group=group)

    def committed(self, partitions: Sequence[TopicPartition], seconds: float) -> list[TopicPartition] | None:
        """Committed offsets with their metadata, in the order asked; offset below 0: nothing is committed.

        None when there is no stable answer within `seconds`: ask again. Raises KafkaException for missing rights.
        """
        try:
            answer = self._consumer.committed(list(partitions), timeout=seconds)
        except KafkaException as failure:
            if failure.args[0].code() in _FOR_PEOPLE:
                raise
            self._log.debug("committed_offsets_not_yet", detail=failure.args[0].str())
            return None
        for one in answer:
            if one.error is not None:
                if one.error.code() in _FOR_PEOPLE:
                    raise KafkaException(one.error)
                return None
        return answer

    def close(self) -> None:
        self._consumer.close()
