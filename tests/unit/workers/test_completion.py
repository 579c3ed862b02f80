import base64
import contextlib
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parkway.workers.attempts import MOST_BYTES, Tried, write_tried
from parkway.workers.completion import Completion, MapError, decode, encode, largest_span

TOPIC = "abcdefghijklmnopqrstuv"


def restored(offset: int, metadata: str) -> Completion:
    completion, _, ignored = Completion.restore(TOPIC, offset, metadata)
    assert ignored is None
    return completion


def test_the_watermark_waits_for_the_oldest_record() -> None:
    completion = Completion(TOPIC, 10)
    assert [completion.take(offset) for offset in (10, 11, 13)] == [True, True, True]
    completion.complete([11, 13])
    offset, metadata = completion.snapshot([], "s", 1)
    assert offset == 10
    assert decode(metadata).unfinished == {10}
    assert completion.snapshot([10], "s", 2)[0] == 14


def test_a_restart_skips_what_is_completed_above_the_watermark() -> None:
    before = Completion(TOPIC, 0)
    for offset in range(6):
        before.take(offset)
    offset, metadata = before.snapshot([1, 2, 4], "s", 7)
    after = restored(offset, metadata)
    assert [offset for offset in range(8) if after.take(offset)] == [0, 3, 5, 6, 7]


def test_a_second_restart_before_everything_was_taken_again_forgets_nothing() -> None:
    first = Completion(TOPIC, 0)
    for offset in range(10):
        first.take(offset)
    second = restored(*first.snapshot([0, 1, 2, 5, 6, 8], "s", 1))
    assert second.take(3)
    third = restored(*second.snapshot([3], "s", 2))
    assert [offset for offset in range(11) if third.take(offset)] == [4, 7, 9, 10]


def test_a_full_map_holds_new_records_back_and_is_worked_off_after_a_restart() -> None:
    before = Completion(TOPIC, 0)
    assert before.room(10) == 10
    for offset in range(10):
        before.take(offset)
    assert before.room(10) == 0
    offset, metadata = before.snapshot(range(1, 10), "s", 1)
    after = restored(offset, metadata)
    assert after.room(10) == 10
    assert after.take(0)
    assert after.room(10) == 9
    for offset in range(1, 10):
        assert not after.take(offset)
    assert after.room(10) == 0
    after.complete([0])
    assert after.room(10) == 10


@pytest.mark.parametrize(
    ("offset", "topic", "reason"),
    [(5, TOPIC, "base"), (0, "another-topic-id", "topic id")],
)
def test_a_map_of_another_offset_or_topic_is_ignored(offset: int, topic: str, reason: str) -> None:
    metadata = encode(TOPIC, 0, 4, "s", 3, [0])
    completion, found, ignored = Completion.restore(topic, offset, metadata)
    assert found is None
    assert ignored is not None
    assert reason in ignored
    assert completion.take(offset)


@given(st.sets(st.integers(0, 3000)), st.integers(0, 2**40), st.integers(0, 4000))
def test_encoding_round_trip(unfinished: set[int], base: int, extra: int) -> None:
    offsets = {base + offset for offset in unfinished}
    end = max(offsets, default=base) + 1 + extra
    found = decode(encode(TOPIC, base, end, "stamp", 12, offsets))
    assert (found.topic_id, found.base, found.span, found.stamp, found.number) == (TOPIC, base, end - base, "stamp", 12)
    assert found.unfinished == offsets


@given(st.integers(0, 2**63 - 1), st.data())
def test_the_longest_map_fits(base: int, data: st.DataObject) -> None:
    limit = 4096
    span = largest_span(limit)
    noise = data.draw(st.binary(min_size=span // 8, max_size=span // 8))
    unfinished = [base + i * 8 + b for i, byte in enumerate(noise) for b in range(8) if byte >> b & 1]
    tried = {base + offset: Tried(9, 10**10 + offset) for offset in range(200)}
    metadata = encode(TOPIC, base, base + span, "0123456789abcdef", 2**40, unfinished, tried)
    assert len(metadata) <= limit


@given(st.text(max_size=200) | st.binary(max_size=60).map(lambda b: "1;t;0;s;1;9;z" + base64.b64encode(b).decode()))
def test_what_is_no_map_raises_map_error(text: str) -> None:
    with contextlib.suppress(MapError):
        decode(text)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=80), st.randoms(use_true_random=False))
def test_every_record_completes_once_over_restarts_and_rebalances(script: list[int], random: Random) -> None:
    """Take, complete and commit in any order, crash, restore, adopt what runs: nothing is lost or done twice."""
    committed: set[int] = set()
    completion, offset, metadata = Completion(TOPIC, 0), 0, ""
    running: list[int] = []
    position = 0
    for step in script:
        if step in (0, 1):
            for _ in range(5):
                if completion.take(position):
                    assert position not in committed
                    assert position not in running
                    running.append(position)
                position += 1
        elif step == 2 and running:
            random.shuffle(running)
            done, running = running[: len(running) // 2 + 1], running[len(running) // 2 + 1 :]
            offset, metadata = completion.snapshot(done, "s", 1)
            completion.complete(done)
            committed.update(done)
        elif step == 3:  # a crash
            completion, running, position = restored(offset, metadata), [], offset
        else:  # a rebalance: some handlers are adopted, the others cancelled
            completion, position = restored(offset, metadata), offset
            running = [one for one in running if completion.is_unfinished(one) and random.random() < 0.7]
            for one in running:
                completion.adopt(one)
    completion, position = restored(offset, metadata), offset
    again = {one for one in range(position, 600) if completion.take(one)}
    assert again == set(range(600)) - committed


def test_attempts_stand_in_the_map_until_the_record_is_completed() -> None:
    first = Completion(TOPIC, 100)
    for offset in range(100, 104):
        first.take(offset)
    first.failed(101, since=1_700_000_000)
    first.failed(103, since=1_700_000_060)
    first.failed(101, since=1_700_000_090)
    second = restored(*first.snapshot([100], "s", 1))
    assert second.tried(101) == Tried(2, 1_700_000_000)
    assert second.tried(103) == Tried(1, 1_700_000_060)
    assert second.tried(102) is None
    third = restored(*second.snapshot([], "s", 2))  # killed again, before anything was taken
    assert third.tried(101) == Tried(2, 1_700_000_000)
    third.take(101)
    assert decode(third.snapshot([101], "s", 3)[1]).tried == {103: Tried(1, 1_700_000_060)}
    third.complete([101])
    assert third.tried(101) is None


def test_when_attempts_do_not_fit_the_fewest_are_forgotten() -> None:
    tried = {offset: Tried(1 + offset % 7, 1_700_000_000 + offset) for offset in range(500)}
    metadata = encode(TOPIC, 0, 500, "s", 1, range(500), tried)
    kept = decode(metadata).tried
    assert 40 < len(kept) < 500
    assert len(write_tried(tried, 0)) <= MOST_BYTES
    assert all(tried[offset] == one for offset, one in kept.items())
    assert min(one.attempts for one in kept.values()) >= max(
        one.attempts for offset, one in tried.items() if offset not in kept
    )


def test_a_map_of_the_version_before_is_read() -> None:
    found = decode(f"1;{TOPIC};7;stamp;12;3;b{base64.b64encode(bytes([0b101])).decode()}")
    assert (found.base, found.number, found.unfinished, found.tried) == (7, 12, {7, 9}, {})


def test_extra_fields_of_a_later_version_are_skipped() -> None:
    assert decode(encode(TOPIC, 0, 1, "s", 1, [0]) + "later=7|tried=1700000000,0.2.0").tried == {
        0: Tried(2, 1_700_000_000)
    }


@given(st.lists(st.tuples(st.integers(1, 3), st.sets(st.integers(0, 60), max_size=20)), max_size=20))
def test_the_watermark_is_the_lowest_offset_in_hand_whatever_completes_first(
    steps: list[tuple[int, set[int]]],
) -> None:
    completion, open_offsets = Completion(TOPIC, 0), dict[int, int]()
    for gap, done in steps:
        offset = completion.next + gap - 1
        assert completion.take(offset, 1_000 + offset)
        open_offsets[offset] = 1_000 + offset
        completion.complete(done)
        open_offsets = {one: at for one, at in open_offsets.items() if one not in done}
        assert completion.watermark == min(open_offsets, default=completion.next)
        assert completion.oldest == min(open_offsets.values(), default=None)
