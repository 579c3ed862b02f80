"""Two processes with one instance would fence each other for ever: look before starting (DESIGN 2.1)."""

import time
from typing import Final

from parkway.runtime.group_members import describe_groups
from parkway.runtime.instance import InstanceError
from parkway.runtime.logs import get_logger
from parkway.runtime.settings import Settings

_ASK_EVERY: Final = 0.5
_ANSWER: Final = 5.0
_GRACE: Final = 5.0


def wait_for_dead_members(settings: Settings, group: str, client_id: str) -> None:
    """Wait until no member of `group` has this client id: a dead process's member stays for a session timeout.

    Raises InstanceError when one is still there after that: it is alive.
    """
    log = get_logger("membership").bind(group=group, client_id=client_id)
    patience = settings.session_timeout + _GRACE
    give_up = time.monotonic() + patience
    warned = False
    while _is_member(settings, group, client_id):
        if time.monotonic() > give_up:
            raise InstanceError(
                f"another process is in group {group} as {client_id}: "
                "give each its own --instance (PARKWAY_INSTANCE), or stop the other one"
            )
        if not warned:
            log.warning("waiting_for_predecessor", at_most_seconds=patience)
            warned = True
        time.sleep(_ASK_EVERY)


def _is_member(settings: Settings, group: str, client_id: str) -> bool:
    """False also for no answer and for no right to look: the fence still holds."""
    found = describe_groups(settings, f"{client_id}.members", [group], _ANSWER).get(group)
    return found is not None and any(member.client_id == client_id for member in found.members)
