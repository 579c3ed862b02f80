"""The example: its plan matches what the demo expects by hand, its model reads tool results, its actions answer."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import FunctionModel

from parkway.agents import build_plan, definition_of, load_agent
from parkway.router.cel import compile_trigger
from parkway.schemas import jsonio
from parkway.workers.actions.user import UserAction
from parkway.workers.effects import Task

ROOT = Path(__file__).parents[2]
SOURCE = "examples.github_triage.agent:GithubTriage"
QUESTION = "repository: octocat/hello\nauthor: mona\nissue: Spelling error\n\nauthor: nobody"


@pytest.fixture(autouse=True)
def _repository_root(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(str(ROOT))


@pytest.fixture
def agent():
    return load_agent(SOURCE)


def deliveries():
    from examples.github_triage.demo.deliveries import load_deliveries

    return load_deliveries()


def found_by_triggers(plan, webhooks):
    found = Counter()
    for action in plan.actions:
        compiled = [compile_trigger(trigger) for trigger in action.triggers]
        for webhook in webhooks:
            event = jsonio.loads(webhook.to_json())
            if any(trigger.evaluate(event) for trigger in compiled):
                found[webhook.id, action.name] += 1
    return found


def test_every_payload_is_delivered_twice_under_ids_of_its_own():
    webhooks = deliveries()
    assert len(webhooks) == 2 * 286
    assert len({webhook.id for webhook in webhooks}) == len(webhooks)


def test_triggers_fire_for_what_the_demo_expects_by_hand(agent):
    from examples.github_triage.demo.expected import expected_of

    webhooks = deliveries()
    expected = expected_of(webhooks)
    found = found_by_triggers(build_plan(agent, SOURCE), webhooks)
    asked = {action for _, action in found}
    assert asked == {"triage-issue", "review-small-change", "report-failed-check", "announce-release"}
    assert found == Counter({owed: count for owed, count in expected.routed.items() if owed[1] in asked})
    assert len(expected.chats) >= 20


def test_large_changes_and_drafts_are_not_reviewed(agent):
    plan = build_plan(agent, SOURCE)
    trigger = compile_trigger(plan.action("review-small-change").triggers[0])

    def fires(**change):
        body = {"draft": False, "additions": 30, "deletions": 20, **change}
        payload = {"action": "opened", "pull_request": body}
        return trigger.evaluate({"type": "github", "attributes": {"event": "pull_request", "payload": payload}})

    assert fires()
    assert not fires(additions=31)
    assert not fires(draft=True)


def test_plan_build_needs_no_secret_and_no_provider():
    run = subprocess.run(
        [sys.executable, "-m", "parkway.cli", "plan", "build", SOURCE],
        cwd=ROOT,
        env={"PARKWAY_MODEL": "openai:gpt-5-mini"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["accepts"][-1] == "github"


async def test_rule_based_model_takes_two_tool_rounds_and_reads_the_results(monkeypatch):
    from examples.github_triage.model import chat_model

    monkeypatch.delenv("PARKWAY_MODEL", raising=False)
    model = chat_model()
    assert isinstance(model, FunctionModel)
    results = {
        "labels_in_use": ["documentation", "bug"],
        "activity_of": {"issues": 2, "push": 1},
        "maintainers_of": ["mona", "octocat"],
    }
    messages = [ModelRequest(parts=[UserPromptPart(QUESTION)])]
    rounds = []
    while True:
        reply = await model.request(messages, None, ModelRequestParameters())
        calls = [part for part in reply.parts if isinstance(part, ToolCallPart)]
        if not calls:
            break
        rounds.append({call.tool_name: call.args_as_dict() for call in calls})
        returns = [
            ToolReturnPart(call.tool_name, json.dumps(results[call.tool_name]), call.tool_call_id) for call in calls
        ]
        messages += [reply, ModelRequest(parts=returns)]
    assert rounds == [
        {"labels_in_use": {"repository": "octocat/hello"}, "activity_of": {"login": "mona"}},
        {"maintainers_of": {"repository": "octocat/hello"}},
    ]
    verdict = json.loads(reply.text)
    assert (verdict["label"], verdict["assignee"]) == ("documentation", "octocat")
    assert verdict["comment"].startswith("3 events of @mona")


async def test_rule_based_model_answers_though_every_tool_failed():
    from examples.github_triage.model import rule_based

    names = ("labels_in_use", "activity_of", "maintainers_of")
    failed = [ToolReturnPart(name, f"Tool `{name}` execute failed.", name, outcome="failed") for name in names]
    messages = [
        ModelRequest(parts=[UserPromptPart(QUESTION)]),
        ModelResponse(parts=[ToolCallPart(name, {}, name) for name in names]),
        ModelRequest(parts=failed),
    ]
    reply = await rule_based(messages, None)
    assert json.loads(reply.text)["assignee"] is None


def test_parkway_model_names_a_provider(monkeypatch):
    from examples.github_triage.model import chat_model

    monkeypatch.setenv("PARKWAY_MODEL", "openai-chat:some-model")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    model = chat_model()
    assert model.model_name == "some-model"
    assert str(model.client.base_url) == "http://127.0.0.1:9/v1/"


async def test_an_issue_becomes_a_chat_and_its_verdict_an_output(agent):
    from examples.github_triage.demo.expected import expected_of

    webhook = next(each for each in deliveries() if (each.id, "triage-issue") in expected_of([each]).routed)
    (request,) = (await run(agent, "triage-issue", jsonio.loads(webhook.to_json()))).events
    asked = request.to_dict()["attributes"]
    assert asked["user_context"]["kind"] == "issue"
    assert asked["messages"][0]["content"].startswith("repository: ")
    verdict = {"label": "bug", "assignee": None, "comment": "Hi"}
    effects = await run(agent, "issue-triaged", response(asked, content=json.dumps(verdict)))
    (output,) = effects.outputs
    expected = {"kind": "issue", "url": asked["user_context"]["url"], **verdict}
    assert output.to_dict()["attributes"]["output"] == expected


async def test_a_failed_chat_is_said_in_the_output(agent):
    asked = {"user_context": {"kind": "change", "url": "u"}}
    error = {"type": "provider_error", "message": "503", "attempts": 4}
    effects = await run(agent, "change-reviewed", response(asked, error=error))
    (output,) = effects.outputs
    assert output.to_dict()["attributes"]["output"] == {"kind": "change", "url": "u", "error": "503"}


def test_answers_are_told_apart_by_user_context(agent):
    plan = build_plan(agent, SOURCE)
    for kind, action, other in (
        ("issue", "issue-triaged", "change-reviewed"),
        ("change", "change-reviewed", "issue-triaged"),
    ):
        event = response({"user_context": {"kind": kind}}, content="{}")
        assert compile_trigger(plan.action(action).triggers[0]).evaluate(event)
        assert not compile_trigger(plan.action(other).triggers[0]).evaluate(event)


def test_tools_know_the_recorded_repositories(agent):
    tools = definition_of(agent).tools
    assert tools["labels_in_use"]("Codertocat/Hello-World") == ["bug"]
    assert tools["maintainers_of"]("Codertocat/Hello-World")[0] == "Codertocat"
    assert tools["activity_of"]("Codertocat")["issues"] == 29
    assert tools["activity_of"]("nobody-at-all") == {}
    assert "octocat/hello-world" in tools["labels_in_use"].parameters["properties"]["repository"]["description"]


def response(asked, *, content=None, error=None):
    message = {"role": "assistant", "content": content} if content is not None else None
    attributes = {"request_id": "r1", "response": message, "success": error is None, "error": error}
    context = {"user_context": asked["user_context"]}
    return {"id": "e2", "type": "_chat_response_event", "attributes": {**attributes, **context}}


async def run(agent, name, event):
    effects = await UserAction(agent(), definition_of(agent).action(name)).handle(Task(event, deadline=0))
    assert effects.failure is None
    return effects
