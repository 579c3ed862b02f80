from parkway.runtime.records import Incoming
from parkway.schemas.topics import Topics
from parkway.workers.assignment import Assignment, Partition
from parkway.workers.completion import Completion
from parkway.workers.held_up import HeldUp
from parkway.workers.queues import Queues
from parkway.workers.restored import Restored
from parkway.workers.work import Epoch, Lane, Work

EPOCH = Epoch(1, None)


def work(offset: int, urgency: int = 0, lane: Lane = Lane.NEW, key: bytes | None = None) -> Work:
    return Work(EPOCH, lane, Incoming("t", 0, offset, 0, key, b"", []), urgency=urgency)


def assignment() -> Assignment:
    lanes = {lane: Completion("topic", 0) for lane in Lane}
    return Assignment(EPOCH, {0: Partition(0, Restored(lanes, {}, 0), "a", Topics("ns"))})


def drain(queues: Queues, here: Assignment, *, new_work: bool = True) -> list[int]:
    found = []
    while (one := queues.next(here, new_work=new_work)) is not None:
        found.append(one.record.offset)
        queues.release_key(here.partitions[0], one)
    return found


def test_suspects_go_before_all_others_those_of_the_most_deaths_first() -> None:
    queues, here = Queues(HeldUp(10**9), by_key=False), assignment()
    for one in (work(5, lane=Lane.RESUME), work(1), work(2, urgency=1), work(3, urgency=4), work(4, urgency=4)):
        queues.put(one)
    assert queues.most_urgent(new_work=True) == 4
    assert queues.suspects(Lane.NEW) == 3
    assert drain(queues, here) == [3, 4, 2, 5, 1]


def test_a_bound_on_open_requests_holds_new_suspects_back_and_no_continuation() -> None:
    queues, here = Queues(HeldUp(10**9), by_key=False), assignment()
    for one in (work(1, urgency=2), work(2), work(3, lane=Lane.RESUME)):
        queues.put(one)
    assert queues.most_urgent(new_work=False) == 0
    assert drain(queues, here, new_work=False) == [3]
    assert queues.most_urgent(new_work=False) is None
    assert drain(queues, here) == [1, 2]


def test_records_of_a_suspects_key_keep_their_order_and_wait_for_the_other_suspects() -> None:
    queues, here = Queues(HeldUp(10**9), by_key=True), assignment()
    for one in (
        work(1, urgency=2, key=b"k"),
        work(2, urgency=2, key=b"k"),
        work(3, urgency=2, key=b"other"),
        work(4, key=b"k"),
    ):
        queues.put(one)
    first = queues.next(here, new_work=True)
    second = queues.next(here, new_work=True)
    assert first is not None
    assert second is not None
    assert (first.record.offset, second.record.offset) == (1, 3), "2 waits for its key"
    assert queues.next(here, new_work=True) is None
    queues.release_key(here.partitions[0], first)
    assert queues.most_urgent(new_work=True) == 2
    assert drain(queues, here) == [2, 4]


def test_an_epoch_that_ends_leaves_nothing() -> None:
    queues = Queues(HeldUp(10**9), by_key=True)
    queues.put(work(1, urgency=2, key=b"k"))
    queues.put(work(2))
    queues.clear()
    assert queues.most_urgent(new_work=True) is None
    assert queues.waiting(Lane.NEW) == 0
