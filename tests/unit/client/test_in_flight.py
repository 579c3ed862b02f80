"""Whose an answer is: by the place of our own record, however early or late it is read."""

import json

import pytest

from parkway.client import ClientClosedError, ClientError, DeadLetteredError
from parkway.client.answers import Answer
from parkway.client.in_flight import InFlight
from parkway.client.waiters import OutputsWaiter, ResponseWaiter
from parkway.runtime.codec import EventCodec
from parkway.schemas.avro import AvroCodec
from parkway.schemas.events import ChatMessage, ChatRequestEvent, Event
from parkway.schemas.topics import Topics

TOPICS = Topics("ns")
CODEC = EventCodec(AvroCodec())


def waiter(request_id: str = "r-1") -> ResponseWaiter:
    event = ChatRequestEvent(id=request_id, model="m", messages=[ChatMessage.user("hi")])
    return ResponseWaiter(event, CODEC, TOPICS)


def response(root: tuple[int, int], request_id: str = "r-1", *, root_id: str | None = None) -> Answer:
    body = {"request_id": request_id, "response": {"role": "assistant", "content": "yes"}}
    value = json.dumps({"id": "a", "type": "_chat_response_event", "attributes": body}).encode()
    given = {"parkway-type": b"_chat_response_event"}
    return Answer(root, (root_id or request_id).encode(), "ns.outputs", root[0], 7, value, given)


def dead(root: tuple[int, int], origin: str, *, hops: str = "0", root_id: str = "r-1") -> Answer:
    given = {"parkway-error-type": b"poison", "parkway-error-message": b"why", "parkway-hops": hops.encode()}
    return Answer(root, root_id.encode(), "ns.dlq", root[0], 7, b"{}", given, origin)


def test_an_answer_goes_to_the_request_at_its_root():
    here, one = InFlight(), waiter()
    assert here.add(one)
    here.place(one, (2, 40))
    here.offer(response((2, 39)))
    here.offer(response((1, 40)))
    assert not one.future.done()
    assert here.waits_in(2)
    here.offer(response((2, 40)))
    assert one.future.result(0).response.content == "yes"
    assert (len(here), here.waits_in(2)) == (0, False)
    here.offer(response((2, 40)))  # nobody waits any more


def test_an_answer_that_is_read_before_the_delivery_report_is_kept():
    here, one, other = InFlight(), waiter("r-1"), waiter("r-2")
    here.add(one)
    here.add(other)
    here.offer(response((0, 5), "r-1"))
    here.offer(response((0, 4), "r-1"))
    here.offer(response((0, 9), "stranger"))
    here.place(one, (0, 5))
    assert one.future.done()
    here.place(other, (0, 9))
    assert not other.future.done()
    assert here._early == {}


def test_only_the_end_of_the_request_itself_is_its_dead_letter():
    here, one = InFlight(), waiter()
    here.add(one)
    here.place(one, (0, 1))
    for origin, hops in (("ns.action.triage", "0"), ("ns.action.chat", "3"), ("ns.events", "0"), ("ns.parked", "0")):
        here.offer(dead((0, 1), origin, hops=hops))
    assert not one.future.done()
    here.offer(dead((0, 1), "ns.action.chat"))
    with pytest.raises(DeadLetteredError, match="'r-1' ended in the DLQ: poison: why") as ended:
        one.future.result(0)
    assert ended.value.place == "ns.dlq/0/7"


def test_a_dead_letter_of_the_router_says_no_id_and_is_found_by_its_place():
    here, one = InFlight(), waiter()
    here.add(one)
    here.offer(dead((0, 1), "ns.requests", root_id=""))
    here.place(one, (0, 1))
    assert isinstance(one.future.exception(0), DeadLetteredError)


def test_one_id_is_in_flight_once():
    here, one = InFlight(), waiter()
    assert here.add(one)
    assert not here.add(waiter())
    here.remove(one)
    assert here.add(waiter())


def test_a_call_for_the_place_comes_when_it_is_known_or_never_will_be():
    here, one, other = InFlight(), waiter("r-1"), waiter("r-2")
    places: list[object] = []
    for each in (one, other):
        here.add(each)
        here.remove(each)  # abandoned: its cancellation waits for the place all the same
        here.when_placed(each, places.append)
    here.place(one, (3, 4))
    here.undeliverable(other)
    for each in (one, other):
        for call in each.when_placed:
            call(each.root)
    assert places == [(3, 4), None]
    assert not here.waits_in(3)
    assert not here.is_undelivered()
    here.when_placed(one, places.append)
    assert places[-1] == (3, 4)


def test_whoever_waits_is_told_when_there_will_be_no_answer():
    here, one = InFlight(), waiter()
    here.add(one)
    here.fail(ClientClosedError("closed"))
    assert isinstance(one.future.exception(0), ClientClosedError)
    assert len(here) == 0


def test_outputs_are_given_until_there_are_enough():
    given: list[Event | ClientError] = []

    def give(item: Event | ClientError) -> bool:
        given.append(item)
        return len(given) == 2

    here, one = InFlight(), OutputsWaiter(Event("ask", {}, id="r-1"), CODEC, TOPICS, give)
    here.add(one)
    here.place(one, (0, 1))
    here.offer(response((0, 1)))  # no output
    for number in range(3):
        body = json.dumps({"id": "o", "type": "_output_event", "attributes": {"output": number}}).encode()
        here.offer(Answer((0, 1), b"r-1", "ns.outputs", 0, number, body, {"parkway-type": b"_output_event"}))
    assert [one.attributes["output"] for one in given] == [0, 1]


def test_an_answer_that_this_version_cannot_read_says_so():
    here, one = InFlight(), waiter()
    here.add(one)
    here.place(one, (0, 1))
    broken = response((0, 1))
    here.offer(Answer(broken.root, broken.root_id, broken.topic, 0, 8, b'{"type": 7}', broken.headers))
    with pytest.raises(ClientError, match=r"ns\.outputs/0/8 cannot be read"):
        one.future.result(0)


def test_only_requests_have_responses():
    with pytest.raises(ClientError, match=r"ticket: only .*_chat_request_event.* ask\(\)"):
        ResponseWaiter(Event("ticket", {}), CODEC, TOPICS)
