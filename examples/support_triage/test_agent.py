"""The agent in memory, with the real router and actions: `pytest examples/support_triage`."""

import json
from pathlib import Path

import pytest
from examples.support_triage.agent import Support

from parkway.agents import build_plan, definition_of, load_agent
from parkway.testing import AgentTest, CallTool, ScriptedModel

HERE = Path(__file__).parent
TICKETS = [json.loads(line) for line in (HERE / "tickets.jsonl").read_text().splitlines()]


@pytest.fixture(autouse=True)
def no_real_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PARKWAY_MODEL", raising=False)


@pytest.mark.parametrize("source", ["examples.support_triage.agent:Support", str(HERE / "agent.yaml")])
async def test_where_the_tickets_go(source: str) -> None:
    async with AgentTest(load_agent(source)) as test:
        for ticket in TICKETS:
            await test.send({"type": "ticket", "attributes": ticket}, key=ticket["customer"])
        await test.run()
        outputs = {output["customer"]: output for output in test.outputs}
        assert {name: (one.get("team"), one.get("urgent")) for name, one in outputs.items()} == {
            "ada": ("billing", True),
            "bob": ("shipping", False),
            "cyd": ("technical", True),
            "dan": (None, None),
        }
        assert outputs["ada"]["reply"] == "Hello Ada, our billing team is on it."
        assert test.parked == []
        assert test.dlq == []


async def test_the_model_is_told_who_the_customer_is() -> None:
    verdict = {"team": "billing", "urgent": True, "reply": "Hello."}
    model = ScriptedModel(CallTool("lookup", {"customer": "ada"}), verdict)
    async with AgentTest(Support, models={"assistant": model}) as test:
        await test.send({"type": "ticket", "attributes": TICKETS[0]}, key="ada")
        await test.run()
        assert model.questions[1].tool_results == {"lookup": {"name": "Ada", "tier": "gold"}}
        assert test.outputs == [{"customer": "ada", **verdict}]


async def test_an_answer_of_another_form_is_asked_again_and_then_left_to_people() -> None:
    model = ScriptedModel(lambda _: {"team": "sales", "urgent": True, "reply": "Hello."})
    async with AgentTest(Support, models={"assistant": model}) as test:
        await test.send({"type": "ticket", "attributes": TICKETS[0]}, key="ada")
        await test.run()
        assert len(model.questions) > 1
        assert test.outputs == [{"customer": "ada", "team": "people", "why": "output_invalid"}]


def test_the_yaml_file_says_the_same_as_the_class() -> None:
    declared = load_agent(str(HERE / "agent.yaml"))
    assert build_plan(declared, "support") == build_plan(Support, "support")
    mine, theirs = definition_of(declared).chat_models["assistant"], Support.assistant
    assert (mine.instructions, mine.tools, mine.model) == (theirs.instructions, theirs.tools, theirs.model)
