"""Anybody may write to `requests`: what stands there is shown, and believed in nothing that is ours to say."""

from typing import Any

import pytest

from parkway.cli.dlq_options import DlqError, parse_place
from parkway.cli.dlq_topic import Origin
from parkway.cli.sightings import Sighting, ours
from parkway.cli.trace_words import words
from parkway.runtime.settings import Settings
from parkway.schemas import headers
from parkway.schemas.topics import Topics

TOPICS = Topics("ns")
FORGED = {
    headers.ROOT: b"ns.requests:0:0:1",
    headers.ROOT_ID: b"somebody-elses",
    headers.PARENT: b"x/chat",
    headers.TENANT: b"acme",
}
DIED = {headers.ORIGIN: b"ns.requests/0/3", headers.ERROR_TYPE: b"bad_id", headers.ERROR_MESSAGE: b"id 'a b'"}


@pytest.mark.parametrize("topic", ["ns.requests", "shop.orders"])
def test_a_producer_names_no_other_run_as_its_own(topic: str) -> None:
    assert ours({**FORGED, headers.ORIGIN: b"ns.requests/0/0"}, topic, TOPICS) == {headers.TENANT: b"acme"}


def test_nor_in_the_dlq_where_the_router_says_why_it_died() -> None:
    assert ours({**FORGED, **DIED}, "ns.dlq", TOPICS) == {headers.TENANT: b"acme", **DIED}


def test_what_the_router_and_workers_wrote_stays() -> None:
    died = {**DIED, headers.ORIGIN: b"ns.action.chat/0/3"}
    assert ours(FORGED, "ns.events", TOPICS) == FORGED
    assert ours({**FORGED, **died}, "ns.dlq", TOPICS) == {**FORGED, **died}


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        ("_chat_request_event", {"messages": "abc"}),
        ("_chat_request_event", {"messages": {"a": 1}}),
        ("_chat_request_event", {"messages": [1]}),
        ("_chat_request_event", {"model": 7, "messages": [None]}),
        ("_tool_request_event", {"tool_calls": [1, {"function": "x"}, {"function": None}]}),
        ("_tool_response_event", {"responses": 3, "success": 1}),
        ("_output_event", {"output": {"\x1b": "\x1b"}}),
        ("_chat_response_event", {"success": False, "error": 1}),
    ],
)
@pytest.mark.parametrize("content", [False, True])
def test_attributes_of_any_shape_are_shown(kind: str, attributes: dict[str, Any], content: bool) -> None:
    one = Sighting("ns.requests", 0, 0, 0, kind, "id", attributes, {}, None, None, 0)
    assert words(one, content=content).startswith(kind.replace("_output_event", "output"))


@pytest.mark.parametrize("place", ["ns.dlq/0/²", "²/1", "0/" + "9" * 30, "0/-1", "0"])
def test_a_place_that_is_none_is_named(place: str) -> None:
    with pytest.raises(DlqError, match=r"write ns\.dlq/PARTITION/OFFSET"):
        parse_place(place, Settings(namespace="ns"))
    assert Origin.parse("ns.requests/0/²") is None
    assert Origin.parse(f"ns.requests/{'9' * 5000}/1") is None
