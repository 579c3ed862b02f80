"""The same agent tests in memory and on a real Kafka; the contracts of DESIGN 4.2 and 4.3 through the whole system."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Message
from confluent_kafka.admin import NewTopic
from contract_agents import Contexts, Outcomes, Patient

from parkway.agents import Event, load_agent
from parkway.runtime.clients import admin_client, plain_producer
from parkway.runtime.settings import Settings
from parkway.testing import CallTool, NotQuietError, Question, ScriptedModel, SyncAgentTest, run_scenario_sync
from parkway.testing.log_record import partition_of

ROOT = Path(__file__).parents[2]
BOTH = pytest.mark.parkway(on=["memory", "kafka"])
Start = Callable[..., SyncAgentTest]


def by_key(test: SyncAgentTest) -> dict[bytes | None, list[str]]:
    keys = {record.key for record in test.records("outputs")}
    return {key: sorted(map(repr, test.outputs_of(key))) for key in keys}


def test_the_github_example_puts_out_the_same_in_memory_and_on_kafka(
    parkway_kafka: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(str(ROOT))
    agent = load_agent("examples.github_triage.agent:GithubTriage")
    from examples.github_triage.demo.deliveries import load_deliveries

    deliveries = [one for one in load_deliveries() if b'"opened"' in one.to_json() or b"completed" in one.to_json()][
        :40
    ]
    found = []
    for kafka in (None, parkway_kafka.bootstrap_servers):
        with SyncAgentTest(agent, kafka=kafka) as test:
            for one in deliveries:
                test.send(one.to_json(), key=one.key)
            test.run()
            assert test.parked == []
            assert test.dlq == []
            found.append(by_key(test))
    in_memory, on_kafka = found
    assert in_memory == on_kafka
    assert sum(map(len, in_memory.values())) > 5
    assert any("'kind': 'issue'" in one for lines in in_memory.values() for one in lines)


def test_keys_go_where_librdkafka_puts_them(parkway_kafka: Any, parkway_namespace: str) -> None:
    topic, keys = f"{parkway_namespace}.keys", [f"key-{number}".encode() for number in range(50)]
    settings = Settings(bootstrap_servers=parkway_kafka.bootstrap_servers, namespace=parkway_namespace)
    admin = admin_client(settings, "tests")
    admin.create_topics([NewTopic(topic, num_partitions=7, replication_factor=1)])[topic].result()
    producer, placed = plain_producer(settings, "tests"), {}

    def delivered(error: object, message: Message) -> None:
        assert error is None
        placed[message.key()] = message.partition()

    for key in keys:
        producer.produce(topic, b"v", key, on_delivery=delivered)
    producer.flush(30)
    admin.delete_topics([topic])[topic].result()
    assert placed == {key: partition_of(key, 7, 0) for key in keys}


def replies(question: Question) -> Any:
    """So many rounds of tools as the user's text asks for; `fail` for a provider that is broken."""
    if question.text == "fail":
        raise ValueError("broken")
    wanted = int(question.text.split()[0])
    if question.rounds < wanted:
        return [CallTool("price", {"item": f"i{question.rounds}"}), CallTool("broken", {"item": "x"})]
    return f"answer to {question.text}"


def ask(name: str, text: str, **given: Any) -> Event:
    return Event("chat", {"text": text, **given}, id=name)


RICH = {"id": "5f0c", "when": ["2026-01-01T00:00:00", {"deep": [1, None, True, 2**60]}], "text": "ünïcode", "of": 1.5}


def ask_all(test: SyncAgentTest) -> None:
    test.send(ask("unset", "0 rounds"), key="k")
    test.send(ask("empty", "0 rounds", user_context={}), key="k")
    test.send(ask("null", "0 rounds", user_context=None), key="k")
    test.send(ask("failed", "fail", user_context={"secret": "of failed"}), key="k")
    for rounds in (3, 1, 0, 2):  # together: their tool rounds finish in another order than they began in
        test.send(ask(f"r{rounds}", f"{rounds} rounds", user_context={**RICH, "secret": rounds}), key="k")
    test.send(Event("tools", {"tool": "price", "user_context": {"secret": "tools"}}, id="price"), key="k")
    test.send(Event("tools", {"tool": "broken", "user_context": {"secret": "tools"}}, id="broken"), key="k")
    test.run()


def seen(test: SyncAgentTest) -> dict[str, dict[str, Any]]:
    return {one.pop("of"): one for one in test.outputs}


def check_contexts(test: SyncAgentTest) -> None:
    found = seen(test)
    here = {"success": True, "attachments": None}
    assert found["chat-of-unset"] == here  # contracts 1 and 7: no key at all, no attachments of the request
    assert found["chat-of-null"] == here  # 9
    assert found["chat-of-empty"] == {**here, "user_context": {}}  # 9
    assert found["chat-of-failed"] == {**here, "success": False, "user_context": {"secret": "of failed"}}  # 3
    for rounds in range(4):  # 2, 4, 5, 8
        assert found[f"chat-of-r{rounds}"] == {**here, "user_context": {**RICH, "secret": rounds}}
    assert found["tools-of-price"] == {**here, "user_context": {"secret": "tools"}}  # 2
    assert found["tools-of-broken"] == {**here, "success": False, "user_context": {"secret": "tools"}}  # 3
    assert "user_context" not in found["a tool request of a chat"]  # 12
    for event in test.events:
        if event.type == "_tool_request_event" and not event.id.startswith("tools-of-"):
            assert "user_context" not in event.attributes  # 12


@BOTH
def test_user_context_through_the_whole_system(parkway_agent_sync: Start) -> None:
    model = ScriptedModel(replies)
    test = parkway_agent_sync(Contexts, models={"assistant": model}, partitions=1)
    ask_all(test)
    check_contexts(test)
    asked = "\n".join(map(str, model.questions))
    assert len(model.questions) >= 10
    assert "secret" not in asked  # 6: neither in prompts nor in what tools were given and gave
    assert "ünïcode" not in asked
    wrong = {"type": "_chat_request_event", "attributes": {"model": "assistant", "user_contxt": {}, "messages": []}}
    test.send({**wrong, "id": "w-1"}, key="k")
    restored = {
        "type": "_chat_request_event",
        "id": "j-1",
        "attributes": {"model": "assistant", "messages": [{"role": "user", "content": "0 x"}], "user_context": RICH},
    }
    test.send(restored, key="k")
    test.run()
    responses = {response.request_id: response for response in test.responses}
    assert responses["w-1"].error.type == "bad_request"  # 9
    assert "user_contxt" in responses["w-1"].error.message
    assert responses["j-1"].user_context == RICH  # 10
    assert len(test.responses) == 2


def test_user_context_survives_every_point_of_death() -> None:
    def scenario(test: SyncAgentTest) -> None:
        test.send(ask("r1", "1 rounds", user_context={**RICH, "secret": 1}), key="a")
        test.send(ask("failed", "fail", user_context={"secret": "of failed"}), key="b")
        test.run()
        assert seen(test)["chat-of-r1"]["user_context"] == {**RICH, "secret": 1}  # 5
        assert seen(test)["chat-of-failed"]["user_context"] == {"secret": "of failed"}

    models = {"assistant": ScriptedModel(replies)}
    survived = run_scenario_sync(Contexts, scenario, crash="every-commit", models=models)
    assert len(survived.deaths) > 30


@BOTH
def test_the_clock_is_moved_past_back_offs_and_deadlines(parkway_agent_sync: Start) -> None:
    began = time.monotonic()
    test = parkway_agent_sync(Patient, partitions=1)
    test.send(Event("job"), key="k")
    test.run()
    assert test.outputs == [3]
    test.send(Event("late", id="l-1"), key="k")
    with pytest.raises(NotQuietError, match=r"action 'wait': late 'l-1' runs"):
        test.run(at_most=5, patience=3)
    test.clock.advance(minutes=15)
    test.run()
    assert [dead.reason for dead in test.dlq] == ["deadline_exceeded"]
    assert time.monotonic() - began < 60  # of 16 minutes


# What a tool response says -> what the handler reads, and the text that the model is shown.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "success": (
        {"value": {"a": [1, 2]}, "success": lambda call: {call: True}},
        {"success": True, "value": {"a": [1, 2]}, "error": None},
        '{"a":[1,2]}',
    ),
    "failed": (
        {"value": {"why": "x"}, "success": lambda call: {call: False}, "error": "the diagnostic"},
        {"success": False, "value": {"why": "x"}, "error": '{"why":"x"}'},
        '{"why":"x"}',
    ),
    "zero is not false": (
        {"value": "v", "success": lambda call: {call: 0}},
        {"success": True, "value": "v", "error": None},
        "v",
    ),
    "nothing about this call": (
        {"value": "v", "success": lambda _: {}},
        {"success": True, "value": "v", "error": None},
        "v",
    ),
    "no map": (
        {"value": "v", "success": lambda _: "yes"},
        {"success": True, "value": "v", "error": None},
        "v",
    ),
}


@BOTH
def test_outcomes_of_tools_through_the_whole_system(parkway_agent_sync: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Outcomes, "answers", {name: told for name, (told, _, _) in CASES.items()})

    def reply(question: Question) -> Any:
        if question.rounds == 0:
            return CallTool("price", {"item": question.text})
        (shown,) = [part for message in question.messages for part in message.parts if part.part_kind == "tool-return"]
        return f"{shown.outcome}: {shown.content}"

    test = parkway_agent_sync(
        Outcomes,
        models={"assistant": ScriptedModel(reply)},
        actions=["ask", "answer", "see", "results", "chat"],
        partitions=1,
    )
    for name in CASES:
        test.send(Event("ask", {"case": name}), key=name)
    test.run()
    for name, (_, read, shown) in CASES.items():
        outcome = "success" if read["success"] else "failed"
        assert test.outputs_of(name) == [read, f"{outcome}: {shown}"], name
