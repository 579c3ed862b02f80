"""DESIGN 7.7 runs as it is printed: built into a plan, and both methods handle what they are made for."""

import subprocess
import sys
from pathlib import Path

import pytest

from parkway.agents import build_plan, definition_of, load_agent
from parkway.schemas.event_types import DEFAULT_ACCEPTS
from parkway.workers.actions.user import UserAction
from parkway.workers.effects import Task

HERE = Path(__file__).parent


@pytest.fixture
def support(monkeypatch):
    monkeypatch.chdir(HERE)
    monkeypatch.setattr(sys, "path", [str(HERE), *sys.path])
    return load_agent("design_example:Support")


def user_action(agent_class, name):
    return UserAction(agent_class(), definition_of(agent_class).action(name))


def test_plan(support):
    plan = build_plan(support, "design_example:Support")
    assert plan.agent == "design_example:Support"
    assert [action.name for action in plan.actions] == ["triage", "answer", "chat", "tool"]
    assert plan.action("triage").triggers == ("type == 'ticket' && (amount > 100)",)
    assert plan.action("chat").resumed_by == ("_tool_response_event", "_cancel_request_event")
    assert plan.action("chat").answers == ("_chat_request_event",)
    assert plan.action("tool").answers == ("_tool_request_event",)
    assert plan.accepts == (*DEFAULT_ACCEPTS, "ticket")
    assert plan.build == plan.with_build().build != ""


def test_plan_build_needs_no_secret_and_no_instance(monkeypatch):
    code = (
        "import sys; from parkway.agents import load_agent, build_plan\n"
        "agent = load_agent('design_example:Support')\n"
        "agent.__init__ = lambda self: sys.exit('instantiated')\n"
        "build_plan(agent, 'x:y')\n"
        "assert not [name for name in sys.modules if name.split('.')[0] in ('openai', 'anthropic')]\n"
        "assert 'confluent_kafka' not in sys.modules\n"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=HERE, env={}, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


async def test_triage_sends_a_chat_request(support):
    ticket = {"customer": "c1", "amount": 120.5, "text": "It broke"}
    task = Task({"id": "e1", "type": "ticket", "attributes": ticket}, deadline=0)
    effects = await user_action(support, "triage").handle(task)
    (request,) = effects.events
    assert request.type == "_chat_request_event"
    attributes = request.to_dict()["attributes"]
    assert attributes["model"] == "assistant"
    assert attributes["messages"][0]["content"] == "It broke"
    assert attributes["user_context"] == {"step": "triage"}


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        ({"response": {"role": "assistant", "content": "Refund"}, "success": True, "error": None}, "Refund"),
        (
            {
                "response": None,
                "success": False,
                "error": {"type": "provider_error", "message": "503", "attempts": 4},
            },
            "503",
        ),
    ],
)
async def test_answer_puts_the_text_out(support, outcome, text):
    attributes = {"request_id": "r1", "retry_count": 0, "total_retry_wait_sec": 0, **outcome}
    task = Task({"id": "e2", "type": "_chat_response_event", "attributes": attributes}, deadline=0)
    effects = await user_action(support, "answer").handle(task)
    assert effects.failure is None
    (output,) = effects.outputs
    assert output.to_dict()["attributes"] == {"output": {"ticket": "r1", "text": text}}


def test_the_tool_is_still_a_function(support):
    tools = definition_of(support).tools
    assert tools["lookup"].description == "Looks a customer up."
    assert tools["lookup"].parameters["required"] == ["customer"]
