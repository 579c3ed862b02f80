"""Where partitions begin and end.

The end is the *high* watermark: `Consumer.get_watermark_offsets` of a read_committed consumer gives the last stable
offset instead. Probed with librdkafka 2.16: after a change of leaders `AdminClient.list_offsets` goes on asking with
the old leader epoch and is fenced each time (`FENCED_LEADER_EPOCH`), until something refreshes its metadata. While the
leader of a partition is gone it gives -1001 for it and no error (seen when one of three brokers was killed): taken for
an offset it made a restore read nothing of what is parked, and take completed records again.
"""

import contextlib
from collections.abc import Iterable

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from parkway.runtime.logs import get_logger

_TIMEOUT = 10.0


def log_beginnings(admin: AdminClient, partitions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int] | None:
    """(topic, partition) -> the first offset that is still there. None: no answer now, ask again."""
    return _ask(admin, partitions, OffsetSpec.earliest())


def high_watermarks(admin: AdminClient, partitions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int] | None:
    """(topic, partition) -> the offset that the next record will get. None: no answer now, ask again."""
    return _ask(admin, partitions, OffsetSpec.latest())


def last_stable_offsets(admin: AdminClient, partitions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int] | None:
    """(topic, partition) -> how far it can be read without waiting for an open transaction. None: ask again."""
    return _ask(admin, partitions, OffsetSpec.latest(), IsolationLevel.READ_COMMITTED)


def _ask(
    admin: AdminClient,
    partitions: Iterable[tuple[str, int]],
    spec: OffsetSpec,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
) -> dict[tuple[str, int], int] | None:
    request = {TopicPartition(topic, partition): spec for topic, partition in partitions}
    if not request:
        return {}
    try:
        answers = admin.list_offsets(request, isolation_level=isolation, request_timeout=_TIMEOUT)
        found = {(one.topic, one.partition): future.result().offset for one, future in answers.items()}
    except KafkaException as failure:
        get_logger("offsets").debug("log_offsets_not_yet", detail=failure.args[0].str())
        found = None
    if found is not None and all(offset >= 0 for offset in found.values()):
        return found
    with contextlib.suppress(KafkaException):
        admin.list_topics(timeout=_TIMEOUT)  # refreshes the leaders
    return None
