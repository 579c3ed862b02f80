"""The main path, on a real Kafka: emit, match, run, park, resume, answer."""

import json
from collections import Counter
from collections.abc import Callable

from installation import Installation, event

from parkway.schemas.avro import AvroCodec


def test_an_order_becomes_an_output(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders")
    here.router()
    here.worker("w0", "process")
    for number in range(50):
        here.emit(event("order", number=number), key=f"k{number % 5}", headers={"parkway-tenant": "acme"})
    here.flush()
    outputs = here.wait_read(here.topics.outputs, 50)
    assert sorted(one.json["attributes"]["output"]["number"] for one in outputs) == list(range(50))
    first = outputs[0]
    assert first.json["type"] == "_output_event"
    assert first.json["upstreamActionName"] == "process"
    assert first.headers["parkway-tenant"] == b"acme"
    assert first.headers["parkway-root-id"].decode() == first.json["upstreamEventId"]
    requests = {one.json["id"]: one for one in here.read(here.topics.requests)}
    for one in outputs:
        source = requests[one.json["upstreamEventId"]]
        assert (one.partition, one.key) == (source.partition, source.key)


def test_a_chat_with_two_tool_rounds_ends_in_one_answer_and_nothing_parked(
    install: Callable[..., Installation],
) -> None:
    here = install("agents:Chats")
    here.router()
    here.worker("w0")
    for number in range(20):
        here.emit(event("question", number=number, rounds=number % 3), key=f"k{number}")
    here.flush()
    outputs = here.wait_read(here.topics.outputs, 20)
    answers = {one.json["attributes"]["output"]["number"]: one.json["attributes"]["output"] for one in outputs}
    assert len(outputs) == len(answers) == 20
    assert all(answer["success"] for answer in answers.values())
    assert '"price":50' in answers[5]["text"]
    assert '"price":60' in answers[5]["text"]
    here.wait_all_done()
    assert here.parked() == {}
    types = Counter(one.headers["parkway-type"].decode() for one in here.read(here.topics.events))
    tool_rounds = sum(number % 3 for number in range(20))
    assert types == {
        "_chat_request_event": 20,
        "_tool_request_event": tool_rounds,
        "_tool_response_event": tool_rounds,
        "_chat_response_event": 20,
    }
    for one in here.read(here.topics.events):
        if one.headers["parkway-type"] == b"_tool_request_event":
            assert "user_context" not in one.json["attributes"]  # contract 12
    assert here.read(here.topics.dlq) == []


def test_a_chat_from_outside_is_answered_in_outputs_with_its_user_context(
    install: Callable[..., Installation],
) -> None:
    here = install("agents:Chats")
    here.router()
    here.worker("w0")
    request = event(
        "_chat_request_event",
        "r-1",
        model="assistant",
        messages=[{"role": "user", "content": "1 rounds for 7"}],
        user_context={"number": 7},
    )
    here.emit(request, key="k")
    here.flush()
    (response,) = here.wait_read(here.topics.outputs, 1)
    body = response.json
    assert body["type"] == "_chat_response_event"
    assert body["attributes"]["request_id"] == "r-1"
    assert body["attributes"]["success"] is True
    assert body["attributes"]["user_context"] == {"number": 7}
    here.wait_all_done()
    # It did not fire the agent's own `answer` action with a stranger's user_context.
    assert len(here.read(here.topics.outputs)) == 1
    assert here.read(here.topics.action("answer")) == []


def test_an_installation_that_writes_avro(install: Callable[..., Installation]) -> None:
    here = install("agents:Chats")
    avro = {"PARKWAY_WIRE_FORMAT": "avro"}
    here.router(**avro)
    here.worker("w0", **avro)
    for number in range(5):
        here.emit(event("question", number=number, rounds=1), key=f"k{number}")
    here.flush()
    outputs = here.wait_read(here.topics.outputs, 5)
    codec = AvroCodec()
    answers = [json.loads(codec.decode_event(one.value or b""))["attributes"]["output"] for one in outputs]
    assert sorted(answer["number"] for answer in answers) == list(range(5))
    assert all(answer["success"] for answer in answers)
    assert {one.headers["content-type"] for one in outputs} == {b"application/vnd.parkway.event+avro"}
    here.wait_all_done()
    assert here.parked() == {}
    assert here.read(here.topics.dlq) == []
