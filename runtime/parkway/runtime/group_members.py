"""Who is in consumer groups, as their coordinators see them, asked so that the process survives it.

Probed with librdkafka 2.16 (its issue 4605): when an admin call to a group's coordinator times out, and the answer
comes after all or the connection breaks, an assertion ends the process. A broker that stood still for longer than the
call's timeout is enough. Calls of a consumer may time out. So a consumer asks first, and the admin client only where
a coordinator has just answered, with a timeout that nothing but its death in that very moment outlasts.
"""

import time
from collections.abc import Sequence
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import ConsumerGroupDescription

from parkway.runtime.clients import admin_client, manual_consumer
from parkway.runtime.settings import Settings

_ASK: Final = 1.0
_NEVER_OUTLASTED: Final = 300.0
_PAUSE: Final = 0.2


def describe_groups(
    settings: Settings, client_id: str, groups: Sequence[str], seconds: float
) -> dict[str, ConsumerGroupDescription]:
    """Descriptions by group; a group that never was is described as dead.

    Missing are those whose coordinators have not answered within `seconds`, and those that may not be described.
    """
    found: dict[str, ConsumerGroupDescription] = {}
    left = list(groups)
    give_up = time.monotonic() + seconds
    while left and time.monotonic() < give_up:
        answers = {group: _coordinator_answers(settings, client_id, group) for group in left}
        left = [group for group, answered in answers.items() if answered is not None]  # else for lack of rights
        ready = [group for group in left if answers[group]]
        if ready:
            # A new client each time: one that met a coordinator on the move goes on asking the same broker.
            admin = admin_client(settings, client_id)
            for group, future in admin.describe_consumer_groups(ready, request_timeout=_NEVER_OUTLASTED).items():
                try:
                    found[group] = future.result()
                except KafkaException:  # it has moved since
                    continue
                left.remove(group)
        if left:
            time.sleep(_PAUSE)
    return found


def _coordinator_answers(settings: Settings, client_id: str, group: str) -> bool | None:
    """None: it may not be asked."""
    extra = {"group.id": group, "isolation.level": "read_uncommitted"}  # whatever is pending there
    consumer: Consumer = manual_consumer(settings, client_id, **extra)
    try:
        consumer.committed([TopicPartition(settings.topics.requests, 0)], timeout=_ASK)
    except KafkaException as failure:
        return None if failure.args[0].code() == KafkaError.GROUP_AUTHORIZATION_FAILED else False
    finally:
        consumer.close()
    return True
