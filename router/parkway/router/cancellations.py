"""Where a cancellation goes: the one record that may leave its partition (DESIGN 7.2)."""

from collections.abc import Mapping
from typing import Any

from parkway.router.admission import RefusedError
from parkway.schemas.errors import DlqReason
from parkway.schemas.json_form import EventError
from parkway.schemas.plan import Plan
from parkway.schemas.tokens import Token
from parkway.schemas.topics import Topics


class Cancellations:
    """The cancellable actions of a plan."""

    def __init__(self, plan: Plan, topics: Topics) -> None:
        self._resume = {name: topics.resume(name) for name in plan.cancellable}

    def targets(
        self, event: Mapping[str, Any], partition: int, partitions: int, *, outside: bool
    ) -> list[tuple[str, int]]:
        """Topics and partitions for a cancellation that came in `partition` of `partitions`. Raises RefusedError.

        A token says action and partition; from outside there must be one. Without it the request is of the partition
        that the cancellation came in, and of the action that it names, or of any.
        """
        attributes = event.get("attributes") or {}
        if attributes.get("token") is not None:
            token = self._token(attributes["token"])
            # More than was counted at the start: partitions were added meanwhile.
            if token.partition >= max(partitions, partition + 1):
                message = f"token: partition {token.partition}, the topics have {partitions}"
                raise RefusedError(DlqReason.BAD_TOKEN, message)
            return [(self._resume[token.action], token.partition)]
        if outside:
            raise RefusedError(
                DlqReason.BAD_TOKEN, "token: a cancellation from outside needs the cancel token of its request"
            )
        action = attributes.get("action")
        if action is None:
            return [(topic, partition) for topic in self._resume.values()]
        if not isinstance(action, str) or action not in self._resume:
            raise RefusedError(DlqReason.NO_ACTION, f"action {str(action)[:100]!r} {self._cannot()}")
        return [(self._resume[action], partition)]

    def _token(self, text: Any) -> Token:
        if not isinstance(text, str):
            raise RefusedError(DlqReason.BAD_TOKEN, "token: expected a string")
        try:
            token = Token.parse(text)
        except EventError as error:
            raise RefusedError(DlqReason.BAD_TOKEN, f"token: {error}") from None
        if token.action not in self._resume:
            raise RefusedError(DlqReason.BAD_TOKEN, f"token: action {token.action!r} {self._cannot()}")
        return token

    def _cannot(self) -> str:
        return f"has no requests that can be cancelled (the plan's: {', '.join(self._resume) or 'none'})"
