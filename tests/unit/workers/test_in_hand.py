from parkway.runtime.records import Incoming
from parkway.workers.in_hand import InHand, size_of
from parkway.workers.work import Epoch, Lane, Work

EPOCH = Epoch(1, None)
EMPTY = size_of(Incoming("t", 0, 0, 0, None, None, []))


def work(offset: int, size: int, lane: Lane = Lane.NEW, partition: int = 0) -> Work:
    return Work(EPOCH, lane, Incoming("t", partition, offset, 0, None, b"x" * size, []))


def test_a_lane_is_full_until_what_it_holds_is_completed() -> None:
    in_hand = InHand(2 * EMPTY + 100)
    in_hand.add(work(0, 60))
    assert not in_hand.full(Lane.NEW)
    in_hand.add(work(1, 60))
    assert in_hand.full(Lane.NEW)
    assert not in_hand.full(Lane.RESUME), "new work must not keep continuations out"
    in_hand.completed({0: {Lane.NEW: {1}}, 1: {Lane.NEW: {0}}})
    assert in_hand.bytes(Lane.NEW) == EMPTY + 60
    in_hand.completed({0: {Lane.NEW: {1}}})
    assert in_hand.bytes(Lane.NEW) == EMPTY + 60


def test_one_record_larger_than_the_bound_is_taken_all_the_same() -> None:
    in_hand = InHand(100)
    assert not in_hand.full(Lane.RESUME)
    in_hand.add(work(5, 1_000, Lane.RESUME))
    assert in_hand.full(Lane.RESUME)
    in_hand.completed({0: {Lane.RESUME: {5}}})
    assert not in_hand.full(Lane.RESUME)


def test_the_end_of_an_epoch_leaves_nothing() -> None:
    in_hand = InHand(100)
    in_hand.add(work(0, 200))
    in_hand.clear()
    assert not in_hand.full(Lane.NEW)
    in_hand.completed({0: {Lane.NEW: {0}}})
    assert in_hand.bytes(Lane.NEW) == 0
