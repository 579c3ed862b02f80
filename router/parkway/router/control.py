"""Where a cancellation or an approval goes: the records that may leave their partition, by a token (DESIGN 7.2)."""

from collections.abc import Iterable, Mapping
from typing import Any

from parkway.router.admission import RefusedError
from parkway.schemas.errors import DlqReason
from parkway.schemas.event_types import EventType
from parkway.schemas.json_form import EventError
from parkway.schemas.plan import Plan
from parkway.schemas.tokens import Token
from parkway.schemas.topics import Topics

Target = tuple[str, int]  # topic and partition


class Control:
    """The actions of a plan whose requests can be cancelled, and those that wait for approvals."""

    def __init__(self, plan: Plan, topics: Topics) -> None:
        self._cancellable = _Holders(plan.cancellable, topics, "has no requests that can be cancelled")
        self._approvable = _Holders(plan.approvable, topics, "asks nobody for approvals")

    def targets(self, event: Mapping[str, Any], partition: int, partitions: int, *, outside: bool) -> list[Target]:
        """Topics and partitions for an event that came in `partition` of `partitions`. Raises RefusedError.

        A token says action and partition. A cancellation from inside may come without: then the request is of the
        partition that the cancellation came in, and of the action that it names, or of any.
        """
        attributes = event.get("attributes") or {}
        token = attributes.get("token")
        if event["type"] == EventType.ApprovalResponseEvent:
            if token is None:
                raise RefusedError(DlqReason.BAD_TOKEN, "token: an approval needs the token of its approval request")
            return self._approvable.of_token(token, partition, partitions)
        if token is not None:
            return self._cancellable.of_token(token, partition, partitions)
        if outside:
            raise RefusedError(
                DlqReason.BAD_TOKEN, "token: a cancellation from outside needs the cancel token of its request"
            )
        return self._cancellable.of_action(attributes.get("action"), partition)


class _Holders:
    """Actions that hold what a token names; `cannot` says of others why not."""

    def __init__(self, names: Iterable[str], topics: Topics, cannot: str) -> None:
        self._resume = {name: topics.resume(name) for name in names}
        self._cannot = f"{cannot} (the plan's: {', '.join(self._resume) or 'none'})"

    def of_token(self, text: Any, partition: int, partitions: int) -> list[Target]:
        if not isinstance(text, str):
            raise RefusedError(DlqReason.BAD_TOKEN, "token: expected a string")
        try:
            token = Token.parse(text)
        except EventError as error:
            raise RefusedError(DlqReason.BAD_TOKEN, f"token: {error}") from None
        if token.action not in self._resume:
            raise RefusedError(DlqReason.BAD_TOKEN, f"token: action {token.action!r} {self._cannot}")
        # More than was counted at the start: partitions were added meanwhile.
        if token.partition >= max(partitions, partition + 1):
            raise RefusedError(DlqReason.BAD_TOKEN, f"token: partition {token.partition}, the topics have {partitions}")
        return [(self._resume[token.action], token.partition)]

    def of_action(self, action: Any, partition: int) -> list[Target]:
        if action is None:
            return [(topic, partition) for topic in self._resume.values()]
        if not isinstance(action, str) or action not in self._resume:
            raise RefusedError(DlqReason.NO_ACTION, f"action {str(action)[:100]!r} {self._cannot}")
        return [(self._resume[action], partition)]
