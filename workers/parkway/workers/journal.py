"""The journal: what actions tell of each model call, tool call, decision and approval (DESIGN 3).

A record is written in the transaction of the result that the call was made for: a call whose result was lost in a
crash, and made again, stands there once.
"""

from collections.abc import Callable
from typing import Any, Final, Literal

from parkway.agents.agent import Agent
from parkway.agents.errors import AgentError
from parkway.runtime.logs import get_logger
from parkway.runtime.settings import Settings
from parkway.schemas import headers, jsonio
from parkway.schemas.event_types import EventType
from parkway.schemas.journal import JournalRecord
from parkway.schemas.json_form import EventError, json_form
from parkway.schemas.parked import ParkedError, split_parked_key
from parkway.schemas.plan import ActionPlan, Plan
from parkway.workers.effects import JournalEntry
from parkway.workers.outbox import Cause

MAX_CONTENT_BYTES: Final = 500_000
Redact = Callable[[str, Any], Any]
ContentKept = Literal["none", "redacted", "full"]


class Journal:
    """Makes the records of one action. `redact` says what of the content may stand there, under `redacted`."""

    def __init__(
        self, planned: ActionPlan, build: str, content: ContentKept = "none", redact: Redact | None = None
    ) -> None:
        self._action = planned.name
        self._runs_tools = EventType.ToolRequestEvent in planned.answers
        self._build = build
        self._kept = content
        self._redact = redact
        self._log = get_logger("worker").bind(action=planned.name)

    @classmethod
    def of(cls, settings: Settings, plan: Plan, planned: ActionPlan, agent: Agent) -> "Journal":
        """By the settings. Raises AgentError when content is to be redacted by an agent that does not say how."""
        content = settings.journal_content or ("full" if settings.capture_content else "none")
        if content == "redacted" and type(agent).redact is Agent.redact:
            name = type(agent).__name__
            raise AgentError(
                f"PARKWAY_JOURNAL_CONTENT=redacted, but {name} does not say how: write def redact(self, kind, content) "
                f"in {name}, or choose none or full"
            )
        return cls(planned, plan.build, content, agent.redact)

    def records(self, cause: Cause, entries: list[JournalEntry]) -> list[JournalRecord]:
        """The records of what was done for `cause`."""
        return [self._record(cause, entry) for entry in entries]

    def _record(self, cause: Cause, entry: JournalEntry) -> JournalRecord:
        kept, content = self._content(entry)
        return JournalRecord(
            build=self._build,
            kind=entry.kind,
            action=self._action,
            name=entry.name,
            root_id=cause.carried.get(headers.ROOT_ID, cause.event_id),
            request_id=entry.request_id or self._request_id(cause),
            call_id=entry.call_id,
            round=entry.round,
            attempt=entry.attempt,
            started_at=entry.started_at,
            ended_at=entry.ended_at,
            outcome=entry.outcome,
            error_type=entry.error_type,
            model=entry.model,
            usage=entry.usage,
            content_kept=kept,
            content=content,
        )

    def _request_id(self, cause: Cause) -> str:
        """Of a tool call that a chat asked for, the chat's."""
        parent = cause.carried.get(headers.PARENT) if self._runs_tools else None
        if parent is None:
            return cause.request_id
        try:
            return split_parked_key(parent.encode()).subject
        except ParkedError:
            return cause.request_id

    def _content(self, entry: JournalEntry) -> tuple[ContentKept, Any]:
        if self._kept == "none" or entry.content is None:
            return "none", None
        try:
            content = json_form(entry.content, "content")
            if self._redact is not None and self._kept == "redacted":
                content = json_form(self._redact(entry.kind, content), "content")
            size = len(jsonio.dumps(content))
        except EventError as error:
            return "none", {"left_out": str(error)}
        except (Exception, SystemExit) as error:  # the user's code; its text may quote what it was to take out
            self._log.warning("redact_failed", kind=entry.kind, error_type=type(error).__name__)
            return "none", {"left_out": "redact failed"}
        if size > MAX_CONTENT_BYTES:
            return "none", {"left_out": f"{size:,} bytes, the limit is {MAX_CONTENT_BYTES:,}"}
        return self._kept, content
