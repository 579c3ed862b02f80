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
    assert in_hand.room(Lane.NEW)
    in_hand.add(work(1, 60))
    assert not in_hand.room(Lane.NEW)
    assert in_hand.room(Lane.RESUME), "new work must not keep continuations out"
    in_hand.completed({0: {Lane.NEW: {1}}, 1: {Lane.NEW: {0}}})
    assert in_hand.bytes(Lane.NEW) == EMPTY + 60
    in_hand.completed({0: {Lane.NEW: {1}}})
    assert in_hand.bytes(Lane.NEW) == EMPTY + 60


def test_one_record_larger_than_the_bound_is_taken_all_the_same() -> None:
    in_hand = InHand(100)
    assert in_hand.room(Lane.RESUME)
    in_hand.add(work(5, 1_000, Lane.RESUME))
    assert not in_hand.room(Lane.RESUME)
    in_hand.completed({0: {Lane.RESUME: {5}}})
    assert in_hand.room(Lane.RESUME)


def test_the_end_of_an_epoch_leaves_nothing() -> None:
    in_hand = InHand(100)
    in_hand.add(work(0, 200))
    in_hand.clear()
    assert in_hand.room(Lane.NEW)
    in_hand.completed({0: {Lane.NEW: {0}}})
    assert in_hand.bytes(Lane.NEW) == 0


def test_there_is_room_for_so_many_records_of_the_usual_size() -> None:
    in_hand = InHand(100 * EMPTY)
    first = in_hand.room(Lane.NEW)
    assert 0 < first < 20, "nobody knows yet how large they are"
    for offset in range(10):
        in_hand.add(work(offset, 0))
    assert in_hand.room(Lane.NEW) == 91
    in_hand.add(work(10, 59 * EMPTY))
    assert in_hand.room(Lane.NEW) == 5
    in_hand.clear()
    assert in_hand.room(Lane.NEW) < 20, "the next ones may be as large"


def test_what_keeps_nobody_out_leaves_room_for_others_and_not_without_end() -> None:
    in_hand = InHand(10 * EMPTY)
    for offset in range(15):
        in_hand.add(work(offset, 0))
    assert not in_hand.room(Lane.NEW)
    assert in_hand.room(Lane.NEW, 8 * EMPTY) == 4
    for offset in range(15, 30):
        in_hand.add(work(offset, 0))
    assert not in_hand.room(Lane.NEW, 25 * EMPTY)
