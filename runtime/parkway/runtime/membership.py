"""Two processes with one instance would fence each other for ever: look before starting (DESIGN 2.1)."""

import time
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from parkway.runtime.instance import InstanceError
from parkway.runtime.logs import get_logger

_ASK_EVERY: Final = 0.5
_GRACE: Final = 5.0


def wait_for_dead_members(admin: AdminClient, group: str, client_id: str, session_timeout: float) -> None:
    """Wait until no member of `group` has this client id: a dead process's member stays for a session timeout.

    Raises InstanceError when one is still there after that: it is alive. Times in seconds.
    """
    log = get_logger("membership").bind(group=group, client_id=client_id)
    give_up = time.monotonic() + session_timeout + _GRACE
    warned = False
    while _is_member(admin, group, client_id):
        if time.monotonic() > give_up:
            raise InstanceError(
                f"another process is in group {group} as {client_id}: "
                "give each its own --instance (PARKWAY_INSTANCE), or stop the other one"
            )
        if not warned:
            log.warning("waiting_for_predecessor", at_most_seconds=session_timeout + _GRACE)
            warned = True
        time.sleep(_ASK_EVERY)


def _is_member(admin: AdminClient, group: str, client_id: str) -> bool:
    try:
        described = admin.describe_consumer_groups([group], request_timeout=5.0)[group].result()
    except KafkaException:
        return False  # no such group yet, or no right to look: the fence still holds
    return any(member.client_id == client_id for member in described.members)
