"""An admin client that is made anew when it stops answering.

Seen with librdkafka 2.16: of the clients that were open while a broker stood still (SIGSTOP, a frozen machine) for
some time, a few never find it again, whatever they are asked; a new client is answered. Not always at once: what it is
asked a few milliseconds after it was made can go to the bootstrap connection as that is closed, and is asked again
after 1 or 3 s. So a client that there is already is the better one.
"""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from confluent_kafka.admin import AdminClient

from parkway.runtime.clients import admin_client
from parkway.runtime.logs import get_logger
from parkway.runtime.settings import Settings

Answer = TypeVar("Answer")

_STUCK_SECONDS: Final = 30.0


class RenewedAdmin:
    """Puts a question to an admin client, and to a new one after half a minute without an answer.

    One thread at a time uses an object of this class.
    """

    def __init__(
        self,
        settings: Settings,
        client_id: str,
        admin: AdminClient | None = None,
        *,
        make: Callable[[Settings, str], AdminClient] = admin_client,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`admin` is asked first, and may be others' as well; None: `make` gives the first one, too."""
        self._settings = settings
        self._client_id = client_id
        self._make = make
        self._clock = clock
        self._admin = admin if admin is not None else make(settings, client_id)
        self._stuck: list[AdminClient] = []  # kept: to destroy one whose broker is gone can hang
        self._unanswered_since: float | None = None
        self._log = get_logger("offsets")

    def ask(self, question: Callable[[AdminClient], Answer | None]) -> Answer | None:
        """What `question` makes of the client: None is no answer now, and it should be asked again."""
        began = self._clock()
        answer = question(self._admin)
        if answer is not None:
            self._unanswered_since = None
            return answer
        if self._unanswered_since is None:
            self._unanswered_since = began
        elif self._clock() - self._unanswered_since > _STUCK_SECONDS:
            self._renew()
        return None

    def _renew(self) -> None:
        self._log.warning(
            "client_made_anew", client=self._client_id, after_seconds=_STUCK_SECONDS, reason="no answer about offsets"
        )
        self._stuck.append(self._admin)
        self._admin = self._make(self._settings, self._client_id)
        self._unanswered_since = None
