"""An agent for GitHub webhooks: it triages issues, reviews small changes, reports broken checks and releases."""

from typing import Any

from examples.github_triage.model import chat_model
from examples.github_triage.tools import activity_of, labels_in_use, maintainers_of
from pydantic import BaseModel

from parkway.agents import Agent, ChatMessage, ChatModel, ChatRequestEvent, ChatResponseEvent, Context, action


class Webhook(BaseModel):
    """A delivery: the value of GitHub's `X-GitHub-Event` header, and the body."""

    event: str
    payload: dict[str, Any]


class Verdict(BaseModel):
    """What the model decides about an issue or a pull request."""

    label: str
    assignee: str | None
    comment: str


class GithubTriage(Agent):
    """One event type, `github`, comes in from outside; what a payload holds decides which actions it triggers."""

    triager = ChatModel(
        chat_model,
        instructions=(
            "You look after GitHub repositories. Look up the labels in use and what the author has done before, "
            "then who maintains the repository. Choose one label, and one maintainer who is not the author."
        ),
        tools=[labels_in_use, activity_of, maintainers_of],
        deadline=120,
    )

    @action("github", when="event == 'issues' && payload.action in ['opened', 'reopened']", external=True)
    async def triage_issue(self, webhook: Webhook, ctx: Context) -> None:
        issue = webhook.payload["issue"]
        self._ask(ctx, "issue", webhook.payload, issue)

    @action(
        "github",
        when="event == 'pull_request' && payload.action in ['opened', 'reopened', 'ready_for_review', 'synchronize']"
        " && !payload.pull_request.draft"
        " && payload.pull_request.additions + payload.pull_request.deletions <= 50",
        external=True,
    )
    async def review_small_change(self, webhook: Webhook, ctx: Context) -> None:
        self._ask(ctx, "change", webhook.payload, webhook.payload["pull_request"])

    @action(
        "github",
        # `payload[event]`: GitHub calls the object after the event, as in {"check_run": {"conclusion": ...}}.
        when="event in ['check_run', 'check_suite', 'workflow_job', 'workflow_run']"
        " && payload.action == 'completed' && payload[event].conclusion in ['failure', 'timed_out']",
        external=True,
    )
    async def report_failed_check(self, webhook: Webhook, ctx: Context) -> None:
        check = webhook.payload[webhook.event]
        ctx.output({"kind": "failed check", "url": check["html_url"], "commit": check["head_sha"]})

    @action(
        "github",
        when="event == 'release' && payload.action == 'published'"
        " && !payload.release.draft && !payload.release.prerelease",
        external=True,
    )
    async def announce_release(self, webhook: Webhook, ctx: Context) -> None:
        release = webhook.payload["release"]
        ctx.output({"kind": "release", "url": release["html_url"], "tag": release["tag_name"]})

    # Every chat of this agent ends in a ChatResponse: `user_context` tells them apart.
    @action("type == EventType.ChatResponseEvent && has(user_context.kind) && user_context.kind == 'issue'")
    async def issue_triaged(self, event: ChatResponseEvent, ctx: Context) -> None:
        ctx.output({"kind": "issue", **_outcome(event)})

    @action("type == EventType.ChatResponseEvent && has(user_context.kind) && user_context.kind == 'change'")
    async def change_reviewed(self, event: ChatResponseEvent, ctx: Context) -> None:
        ctx.output({"kind": "change", **_outcome(event)})

    def _ask(self, ctx: Context, kind: str, payload: dict[str, Any], subject: dict[str, Any]) -> None:
        question = (
            f"repository: {payload['repository']['full_name']}\n"
            f"author: {subject['user']['login']}\n"
            f"{kind}: {subject['title']}\n\n{subject['body'] or ''}"
        )
        ctx.send(
            ChatRequestEvent(
                model="triager",
                messages=[ChatMessage.user(question)],
                output_schema=Verdict,
                user_context={"kind": kind, "url": subject["html_url"]},
            )
        )


def _outcome(event: ChatResponseEvent) -> dict[str, Any]:
    """The verdict as the model gave it, or why there is none."""
    url = (event.user_context or {}).get("url")
    if event.success:
        return {"url": url, **Verdict.model_validate_json(event.response.content).model_dump()}
    return {"url": url, "error": event.error.message if event.error else "no reason was given"}
