"""What of the DLQ is replayed: by a bit for each offset, by filters, and where it goes."""

import random

import pytest

from parkway.cli.dlq_target import Stays, Targets
from parkway.cli.dlq_topic import DeadLetter, Filters, Origin, Replayed
from parkway.runtime.records import Record
from parkway.schemas.replayed import ReplayMarker
from parkway.schemas.topics import Topics

TOPICS = Topics("ns")


def letter(origin: str = "ns.requests/2/5", **more: object) -> DeadLetter:
    given = {"parkway-origin": origin.encode(), "parkway-error-type": b"bad_id", "parkway-attempt": b"3"}
    given |= {name.replace("_", "-"): str(value).encode() for name, value in more.items()}
    return DeadLetter("ns.dlq", 2, 9, 1_000, b"k", b'{"id": "e-1", "type": "t"}', list(given.items()), given)


def test_offsets_that_were_put_back_are_kept_as_bits():
    rng = random.Random(7)
    replayed, expected = Replayed(), set()
    for _ in range(200):
        first = rng.randrange(500, 1_500) if rng.random() < 0.9 else rng.randrange(500)
        last = first + rng.randrange(20)
        replayed.add(1, first, last)
        expected |= set(range(first, last + 1))
    assert {offset for offset in range(2_000) if (1, offset) in replayed} == expected
    assert (0, 700) not in replayed


def test_a_marker_holds_runs_of_offsets():
    marker = ReplayMarker.of([7, 3, 4, 9, 5])
    assert marker.replayed == ((3, 5), (7, 7), (9, 9))
    assert ReplayMarker.from_json(marker.to_json()) == marker
    assert ("parkway-error-message", b"5 records of this partition were put back") in marker.headers()


@pytest.mark.parametrize(
    ("filters", "taken"),
    [
        (Filters(), True),
        (Filters(reasons=("bad_id", "poison")), True),
        (Filters(reasons=("poison",)), False),
        (Filters(actions=("chat",)), False),
        (Filters(types=("t",)), True),
        (Filters(key=b"other"), False),
        (Filters(event_id="e-1"), True),
        (Filters(event_id="root"), True),
        (Filters(event_id="e-2"), False),
        (Filters(since=1_001), False),
        (Filters(until=999), False),
        (Filters(place=(2, 9)), True),
        (Filters(place=(2, 8)), False),
    ],
)
def test_filters(filters, taken):
    assert filters.take(letter(parkway_root_id="root"), TOPICS) is taken


def test_origins_are_read_or_are_none():
    assert Origin.parse("ns.action.x/3/17") == Origin("ns.action.x", 3, 17)
    assert Origin.parse("ns.parked/3/-1") == Origin("ns.parked", 3, -1)
    for text in ("", "x", "x/1", "/1/2", "x/a/2", "x/1/b"):
        assert Origin.parse(text) is None


def test_a_record_goes_back_with_the_headers_that_it_had():
    target = Targets(TOPICS, {"ns.requests": 3}).of(letter(traceparent="00-x", parkway_replays=2, parkway_deadline=5))
    assert target == Record(
        "ns.requests",
        2,
        b"k",
        b'{"id": "e-1", "type": "t"}',
        [("traceparent", b"00-x"), ("parkway-replays", b"3")],
    )
    kept = Targets(TOPICS, {"ns.requests": 3}, keep_deadlines=True).of(letter(parkway_deadline=5))
    assert isinstance(kept, Record)
    assert ("parkway-deadline", b"5") in kept.headers


def test_what_is_no_whole_record_stays():
    targets = Targets(TOPICS, {"ns.requests": 3, "ns.action.x": 3})
    cut = letter(parkway_error_message="too large (value truncated from 5000000 to 4000000 bytes)")
    whole = DeadLetter(cut.topic, 2, 9, 1, None, b"x" * 4_000_000, cut.headers, cut.given)
    assert isinstance(targets.of(whole), Stays)
    assert isinstance(targets.of(letter("ns.action.x/1/1")), Stays)
    assert isinstance(targets.of(letter("ns.action.x/1/1", parkway_type="t")), Record)
