"""The agent in memory, with the real router and actions: `pytest examples/github_triage`."""

from typing import Any

import pytest
from examples.github_triage.agent import GithubTriage
from examples.github_triage.tools import ARCHIVE

from parkway.schemas.jsonio import loads
from parkway.testing import AgentTest, CallTool, ScriptedModel

WEBHOOKS = [loads(line) for line in ARCHIVE.read_bytes().splitlines()]
OPENED = next(each for each in WEBHOOKS if each["event"] == "issues" and each["payload"]["action"] == "opened")


async def outputs_for(webhook: Any, **options: Any) -> list[Any]:
    async with AgentTest(GithubTriage, **options) as test:
        await test.send({"type": "github", "attributes": webhook}, key="one")
        await test.run()
        assert test.dlq == []
        assert test.parked == []
        return test.outputs


async def test_an_issue_gets_the_verdict_of_the_model() -> None:
    repository = OPENED["payload"]["repository"]["full_name"]
    verdict = {"label": "bug", "assignee": None, "comment": "Thank you."}
    model = ScriptedModel(CallTool("labels_in_use", {"repository": repository}), verdict)
    (output,) = await outputs_for(OPENED, models={"triager": model})
    assert output == {"kind": "issue", "url": OPENED["payload"]["issue"]["html_url"], **verdict}
    assert model.questions[1].tool_results == {"labels_in_use": ["bug"]}


async def test_the_rules_answer_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PARKWAY_MODEL", raising=False)
    (output,) = await outputs_for(OPENED)
    assert output["label"] == "bug"
    assert output["assignee"]


async def test_a_failed_check_needs_no_model() -> None:
    failed = next(
        each
        for each in WEBHOOKS
        if each["event"] == "check_run" and each["payload"]["check_run"]["conclusion"] == "failure"
    )
    (output,) = await outputs_for(failed)
    assert output["kind"] == "failed check"


async def test_other_webhooks_trigger_nothing() -> None:
    star = next(each for each in WEBHOOKS if each["event"] == "star")
    assert await outputs_for(star) == []
