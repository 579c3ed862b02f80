"""What a request leaves behind when it is parked: its record, and the questions to people that it waits for."""

import base64
from collections.abc import Iterator

from parkway.runtime.records import Incoming
from parkway.schemas.events import ApprovalRequestEvent
from parkway.schemas.parked import ParkedApproval, ParkedRecord
from parkway.schemas.tokens import Token, new_secret
from parkway.workers.effects import Park, Task
from parkway.workers.origins import cancel_secret, request_hash
from parkway.workers.outbox import Cause
from parkway.workers.times import now_ms


def parked_record(
    build: str, action: str, partition: int, cause: Cause, task: Task, park: Park, record: Incoming | None
) -> ParkedRecord:
    """The request's parked record. `record` is the one that it came with, None when it was parked before."""
    if task.parked is not None:
        origin, request, asked = task.parked.origin, task.parked.request, task.parked.request_hash
        token = task.parked.token or str(Token.new(action, partition))
    else:
        assert record is not None
        origin, request, asked = cause.origin(record), dict(task.event), request_hash(record)
        token = str(Token(action, partition, cancel_secret(record) or new_secret()))
    return ParkedRecord(
        build=build,
        action=action,
        record_key=base64.b64encode(cause.key).decode() if cause.key is not None else None,
        origin=origin,
        request=request,
        request_hash=asked,
        round=park.round,
        waits_for=park.waits_for,
        pending_calls=park.pending_calls,
        deadline=park.deadline,
        state=dict(park.state),
        token=token,
        approvals={**park.approvals, **_asked(action, partition, park)},
        awaits_person=park.awaits_person,
    )


def approval_requests(parked: ParkedRecord, park: Park) -> Iterator[ApprovalRequestEvent]:
    """One for every call that a person is asked about now."""
    for ask in park.asks:
        token = parked.approvals[ask.call.id].token
        yield ApprovalRequestEvent(request_id=parked.request_id, token=token, call=ask.call, reason=ask.reason)


def _asked(action: str, partition: int, park: Park) -> dict[str, ParkedApproval]:
    """A fresh token for every call that a person is asked about."""
    return {
        ask.call.id: ParkedApproval(token=str(Token.new(action, partition)), reason=ask.reason, asked_at=now_ms())
        for ask in park.asks
    }
