"""Producers that wait: each gets the answer to its own request, whatever dies in between."""

import asyncio
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from installation import Installation, installation, wait_for
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, use_span

from parkway.client import (
    Client,
    ClientClosedError,
    ClientError,
    DeadLetteredError,
    NotDeliveredError,
    RequestTimeoutError,
    SyncClient,
)
from parkway.client.in_flight import InFlight
from parkway.client.reader import Reader
from parkway.client.waiters import Begins, ResponseWaiter
from parkway.runtime.codec import event_codec
from parkway.runtime.topology import TopologyError
from parkway.schemas.events import ChatMessage, ChatRequestEvent, Event, InputEvent
from parkway.testing.kafka import PipKafka

Install = Callable[..., Installation]
Capture = pytest.CaptureFixture[str]


def client_of(here: Installation, **options: object) -> Client:
    return Client(here.settings.bootstrap_servers, here.settings.namespace, **options)


def chat(text: str, request_id: str | None = None) -> ChatRequestEvent:
    given = {} if request_id is None else {"id": request_id}
    return ChatRequestEvent(model="assistant", messages=[ChatMessage.user(text)], **given)


def ends(here: Installation) -> Counter[str]:
    return Counter(one.json["attributes"]["request_id"] for one in here.read(here.topics.outputs))


async def test_requests_end_in_their_responses(install: Install) -> None:
    here = install("agents:Chats")
    here.router()
    here.worker("w0")
    async with client_of(here) as client:
        asked = [chat(f"{number % 3} rounds for {number}") for number in range(60)]
        answers = await asyncio.gather(*(client.request(one, key=f"k{number % 7}") for number, one in enumerate(asked)))
        assert [one.request_id for one in answers] == [one.id for one in asked]
        assert all(one.response.content.startswith(f"{number}: ") for number, one in enumerate(answers))

        failed = await client.request(ChatRequestEvent(model="nobody", messages=[ChatMessage.user("hi")]))
        assert (failed.success, failed.error.type) == (False, "unknown_model")

        output = await client.ask(Event("question", {"rounds": 1, "number": 7}), key="Ann")
        assert output.output["number"] == 7
        assert client.in_flight == 0

        span = NonRecordingSpan(SpanContext(0xABC, 0xDEF, is_remote=False, trace_flags=TraceFlags(1)))
        with use_span(span):
            sent = await client.send(Event("question", {"rounds": 0, "number": 8}, id="sent-8"))
        assert sent == "sent-8"
        (record,) = (one for one in here.read(here.topics.requests) if one.json["id"] == "sent-8")
        assert record.headers["traceparent"] == f"00-{0xABC:032x}-{0xDEF:016x}-01".encode()
        here.wait_read(here.topics.outputs, 63)


def test_threads_wait_for_their_own_answers(install: Install) -> None:
    here = install("agents:Chats")
    here.router()
    here.worker("w0")
    found: dict[int, str] = {}
    with SyncClient(here.settings.bootstrap_servers, here.settings.namespace) as client:

        def ask(number: int) -> None:
            found[number] = client.request(chat(f"0 rounds for {number}")).response.content

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == {number: f"{number}: []" for number in range(20)}
        assert client.ask(Event("question", {"rounds": 0, "number": 1})).output["success"] is True
        assert client.send_soon(Event("question", {"rounds": 0, "number": 2}, id="q2")).result(30) == "q2"
        with pytest.raises(RequestTimeoutError, match="no answer to event"):
            list(client.outputs(Event("question", {"rounds": 0, "number": 3}), timeout=2.0))


async def test_what_ends_in_the_dlq_is_told_at_once(install: Install) -> None:
    here = install("agents:Orders")
    here.router()
    here.worker("w0")
    async with client_of(here) as client:
        with pytest.raises(DeadLetteredError) as bad_id:
            await client.request(chat("hi", "not an id"), key="k")
        assert (bad_id.value.reason, bad_id.value.event_id) == ("bad_id", "not an id")
        with pytest.raises(DeadLetteredError) as forbidden:
            await client.ask(Event("secret-event", {}))
        assert forbidden.value.reason == "forbidden_type"
        with pytest.raises(DeadLetteredError, match="action_failed") as broken:
            await client.ask(Event("broken", {}))
        dead = {f"{one.topic}/{one.partition}/{one.offset}" for one in here.read(here.topics.dlq)}
        assert {one.value.place for one in (bad_id, forbidden, broken)} == dead
        numbers = []
        async for output in client.outputs(Event("order", {"number": 5}), timeout=30):
            numbers.append(output.output["number"])
            break
        assert numbers == [5]
        none = await client.request(chat("hi"))  # no action of this plan takes it: its failed response
        assert none.error.type == "no_action"


async def test_wrong_calls_say_what_is_wrong(install: Install) -> None:
    here = install("agents:Orders")
    with pytest.raises(TopologyError, match=r"missing topic nobody\.requests"):
        await Client(here.settings.bootstrap_servers, "nobody").open()
    with pytest.raises(TopologyError, match="missing reply topic"):
        await client_of(here, reply_topic="nowhere").open()
    with pytest.raises(ClientClosedError, match="async with"):
        await client_of(here).send(InputEvent(input=1))
    client = client_of(here)
    async with client:
        with pytest.raises(ClientError, match=r"_input_event: only .* ask\(\)"):
            await client.request(InputEvent(input=1))
        with pytest.raises(NotDeliveredError, match="larger than"):
            await client.send(InputEvent(input="x" * 2_000_000))
        with pytest.raises(ClientError, match="parkway-root is not for producers"):
            await client.request(chat("hi"), headers={"parkway-root": "x:1:2:3"})
        waiting = asyncio.ensure_future(client.request(chat("hi", "same")))
        await asyncio.sleep(0)
        with pytest.raises(ClientError, match="in flight in this client already"):
            await client.request(chat("hi", "same"))
        with pytest.raises(ClientError, match="no request 'other'"):
            await client.cancel("other")
    with pytest.raises(ClientClosedError):
        await waiting
    with pytest.raises(ClientClosedError):
        await client.send(InputEvent(input=1))


async def test_a_wrong_call_is_its_callers_alone(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    """It raised in the thread that sends for all: every other request of the process then waited for its timeout."""
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"key": 5}, r"key: text, bytes or None, not 5 \(int\)"),
        ({"key": "\ud800"}, r"key: .* not '\\ud800'"),
        ({"headers": {"traceparent": 1}}, "headers: traceparent is text, not 1"),
        ({"headers": {"traceparent": "\ud800"}}, "headers: traceparent is text"),
        ({"headers": {1: "x"}}, "headers: a name is text"),
        ({"headers": [("a", "b")]}, "headers: a map"),
        ({"timeout": "5"}, r"timeout: seconds .* not '5' \(str\)"),
        ({"timeout": float("nan")}, "timeout: seconds"),
        ({"timeout": float("inf")}, "timeout: seconds"),
    ]
    async with client_of(install("agents:Orders")) as client:
        for given, message in wrong:
            with pytest.raises(ClientError, match=message):
                await client.request(chat("hi"), **given)
        with pytest.raises(ClientError, match="an Event, not dict; of a dict, Event"):
            await client.send({"type": "x"})  # type: ignore[arg-type]
        changed = Event("ticket", {})
        changed.attributes["text"] = "\ud800"
        with pytest.raises(ClientError, match=r"text: .* not valid Unicode"):
            await client.send(changed)
        assert client.in_flight == 0
        monkeypatch.setattr("parkway.client.engine.check_key", lambda _key: None)  # as if one were forgotten
        for _ in range(2):
            with pytest.raises(NotDeliveredError, match="cannot be produced"):
                await client.request(chat("hi"), key=5, timeout=10)  # type: ignore[call-overload]
        assert await asyncio.wait_for(client.send(InputEvent(id="next", input=1)), 30) == "next"


async def test_timeouts_and_cancelled_tasks_cancel_the_request(install: Install) -> None:
    here = install("agents:Patient")
    here.router()
    here.worker("w0")
    late = {"parkway-deadline": str(here.broker_time() + 600_000)}
    async with client_of(here) as client:
        with pytest.raises(RequestTimeoutError) as over:
            await client.request(chat("1 model", "times-out"), timeout=6.0, headers=late)
        assert over.value.request_id == "times-out"

        task = asyncio.ensure_future(client.request(chat("2 model", "task-ends"), headers=late))
        waiting = asyncio.ensure_future(client.request(chat("3 hang", "cancelled"), headers=late))
        await asyncio.to_thread(here.wait_read, here.topics.action("chat"), 3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await client.cancel("cancelled", reason="a test")
        answer = await waiting
        assert (answer.success, answer.error.type) == (False, "cancelled")
        assert client.in_flight == 0
    responses = await asyncio.to_thread(here.wait_read, here.topics.outputs, 3)
    found = {one.json["attributes"]["request_id"]: one.json["attributes"]["error"]["type"] for one in responses}
    assert found == dict.fromkeys(["times-out", "task-ends", "cancelled"], "cancelled")


async def test_an_answer_to_another_request_under_the_same_id_is_not_taken(install: Install) -> None:
    """Such as a late one to an earlier request."""
    here = install("agents:Replies", partitions=1)
    here.router()
    async with client_of(here) as client:
        waiting = asyncio.ensure_future(client.request(chat("0 rounds for 4", "twice")))
        routed = await asyncio.to_thread(here.wait_read, here.topics.action("chat"), 1)
        root = routed[0].headers["parkway-root"].decode()
        body = {"request_id": "twice", "response": {"role": "assistant", "content": "not yours"}}
        other = {"id": "r", "type": "_chat_response_event", "attributes": body}
        topic, partition, offset, timestamp = root.split(":")
        for foreign in (f"{topic}:{partition}:{int(offset) + 1}:{timestamp}", f"x.{root}", "", "a:b:c:d"):
            given = {"parkway-type": "_chat_response_event", "parkway-root-id": "twice", "parkway-root": foreign}
            here.emit(other, topic=here.topics.outputs, partition=0, headers=given)
        dead = {"parkway-error-type": "bad_id", "parkway-origin": f"{topic}/0/{int(offset) + 1}", "parkway-root": root}
        here.emit(other, topic=here.topics.dlq, partition=0, headers=dead)
        here.flush()
        here.worker("w0")
        answer = await waiting
        assert answer.response.content == "4: []"
    assert sum(ends(here).values()) == 5


@pytest.mark.timeout(240)
async def test_two_thousand_in_flight_survive_a_workers_death(install: Install) -> None:
    here = install("agents:Chats")
    here.router()
    first = here.worker("w0", TEST_MODEL_SECONDS="0.2")
    async with client_of(here) as client:
        asked = [chat(f"{number % 2} rounds for {number}") for number in range(2_000)]
        waiting = [asyncio.ensure_future(client.request(one, key=str(n), timeout=200)) for n, one in enumerate(asked)]
        await asyncio.to_thread(here.wait_read, here.topics.outputs, 100)
        first.kill()
        first.wait()
        assert client.in_flight > 1_000
        here.worker("w1", TEST_MODEL_SECONDS="0")
        answers = await asyncio.gather(*waiting)
    assert [one.request_id for one in answers] == [one.id for one in asked]
    assert all(one.response.content.startswith(f"{number}: ") for number, one in enumerate(answers))
    assert ends(here) == Counter(one.id for one in asked)


@pytest.mark.timeout(240)
async def test_a_broker_that_restarts_loses_no_answer_and_doubles_no_request(tmp_path: Path) -> None:
    with (
        PipKafka(data_dir=tmp_path / "kafka") as kafka,
        installation(kafka.bootstrap_servers, "restarts", "agents:Chats", tmp_path) as here,
    ):
        here.router()
        here.worker("w0", TEST_MODEL_SECONDS="1")
        quick = client_of(here, kafka={"delivery.timeout.ms": "2000"})
        async with client_of(here) as client, quick:
            before = [chat(f"1 rounds for {number}") for number in range(200)]
            waiting = [asyncio.ensure_future(client.request(one, timeout=150)) for one in before]
            await asyncio.to_thread(here.wait_read, here.topics.outputs, 20)
            await asyncio.to_thread(kafka.kill, 1)
            during = [chat(f"0 rounds for {number}") for number in range(200, 300)]
            waiting += [asyncio.ensure_future(client.request(one, timeout=150)) for one in during]
            with pytest.raises(RequestTimeoutError, match=r"no broker .* has taken the event"):
                await client.request(chat("0 rounds for 999", "too-late"), timeout=0.5)
            with pytest.raises(NotDeliveredError, match="may have been written") as lost:
                await quick.send(Event("question", {"rounds": 0, "number": 1}, id="lost"))
            assert lost.value.maybe
            await asyncio.to_thread(kafka.restart, 1)
            assert await quick.send(Event("question", {"rounds": 0, "number": 2}, id="sent")) == "sent"
            answers = await asyncio.gather(*waiting)
            after = await client.request(chat("0 rounds for 300"), timeout=60)
        assert after.success
        asked = [one.id for one in before + during]
        assert [one.request_id for one in answers] == asked
        requests = Counter(
            body["id"]
            for body in (json.loads(one.value) for one in here.read(here.topics.requests))
            if body["type"] == "_chat_request_event" and body["id"] != "too-late"
        )
        assert requests == Counter([*asked, after.request_id])
        wait_for("nothing is on its way", lambda: here.lag(here.topics.router_group, here.topics.requests) == 0, 60)
        responses = [one for one in here.read(here.topics.outputs) if one.headers["parkway-type"] != b"_output_event"]
        found = Counter(one.json["attributes"]["request_id"] for one in responses)
        assert found.keys() >= set(requests)
        assert set(found.values()) == {1}


async def test_responses_by_a_reply_topic(install: Install) -> None:
    here = install("agents:Replies")
    reply_topic = f"{here.settings.namespace}-replies"
    here.create_topic(reply_topic, here.partitions)
    here.apply(here.plan.model_copy(update={"reply_topics": (reply_topic,)}))
    here.router()
    here.worker("w0")
    async with client_of(here, reply_topic=reply_topic) as client:
        answers = await asyncio.gather(*(client.request(chat(f"0 rounds for {number}")) for number in range(10)))
        assert [one.response.content for one in answers] == [f"{number}: []" for number in range(10)]
        with pytest.raises(ClientError, match=r"reads .*-replies only"):
            await client.ask(Event("order", {"number": 1}))
    assert here.read(here.topics.outputs) == []


async def test_partitions_without_requests_are_not_read(install: Install) -> None:
    """And what was there before is not read, either."""
    here = install("agents:Replies", partitions=8)
    for partition in range(8):
        for _ in range(100):
            here.emit(b"{}", topic=here.topics.outputs, partition=partition)
    here.flush()
    here.router()
    here.worker("w0")
    async with client_of(here) as client:
        began = time.monotonic()
        await client.request(chat("0 rounds for 1"), key="one")
        assert client._engine is not None
        assert client._engine._reader.reads() == 1
        (read,) = client._engine._reader._partitions.values()
        assert read.next[here.topics.outputs] >= 100
        assert time.monotonic() - began < 60


def test_the_examples_of_the_docs_run(install: Install, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    here = install("docs_agents:Shop")
    here.router()
    here.worker("w0")
    monkeypatch.setenv("PARKWAY_BOOTSTRAP_SERVERS", here.settings.bootstrap_servers)
    monkeypatch.setenv("PARKWAY_NAMESPACE", here.settings.namespace)
    page = (Path(__file__).parents[2] / "docs" / "client.md").read_text("utf-8")
    said = []
    for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(code, "docs/client.md", "exec"), {"__name__": "example"})
        said.append(capsys.readouterr().out.splitlines())
    assert said[:2] == [["It comes tomorrow."], ["It comes tomorrow."]]
    assert said[2][:3] == ["{'ticket': 'ann'}", "{'ticket': 'bob'}", "{'ticket': 'bob', 'last': True}"]
    assert said[3][0].startswith("False ")
    assert "cancelled" in said[3][0]


def test_a_partition_that_was_begun_for_a_later_request_is_read_again_from_an_earlier_one(install: Install) -> None:
    """Delivery reports of two requests to a partition need not come in the order in which they were produced."""
    here = install("agents:Replies", partitions=1)
    outputs = here.topics.outputs
    body = {"request_id": "early", "response": {"role": "assistant", "content": "here"}}
    given = {"parkway-type": "_chat_response_event", "parkway-root-id": "early"}
    given["parkway-root"] = f"{here.topics.requests}:0:5:0"
    here.emit({"id": "r", "type": "_chat_response_event", "attributes": body}, topic=outputs, headers=given)
    here.flush()
    in_flight = InFlight()
    reader = Reader(here.settings, "reader", [outputs, here.topics.dlq], in_flight)
    reader.start()
    now = time.monotonic()
    reader.want(0, Begins(now, {(outputs, 0): 1}), now)
    wait_for("it reads from the later end", lambda: reader.reads() == 1)
    early = ResponseWaiter(chat("hi", "early"), event_codec(here.settings), here.topics)
    in_flight.add(early)
    in_flight.place(early, (0, 5))
    reader.want(0, Begins(now - 2, {(outputs, 0): 0}), now - 1)
    assert early.future.result(30).response.content == "here"
    reader.stop()
    reader.join(10)
    assert not reader.is_alive()
