import pytest

from parkway.schemas.topics import Topics
from parkway.workers import assignment
from parkway.workers.assignment import Assignment, Partition
from parkway.workers.completion import Completion
from parkway.workers.restored import Restored
from parkway.workers.work import Epoch, Lane


def started(resume_end: int) -> tuple[Assignment, Completion]:
    lanes = {lane: Completion("topic-id", 0) for lane in Lane}
    partition = Partition(0, Restored(lanes, {}, 0, ends={Lane.RESUME: resume_end}), "chat", Topics("ns"))
    return Assignment(Epoch(1, None), {0: partition}), lanes[Lane.RESUME]


def test_new_work_waits_for_the_continuations_that_were_there_before() -> None:
    one, resume = started(resume_end=3)
    assert not one.caught_up()
    resume.take(0)
    assert not one.caught_up()
    resume.take(1)
    resume.advance(3)  # past a control record
    assert one.caught_up()
    assert started(resume_end=0)[0].caught_up()


def test_new_work_does_not_wait_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assignment, "CATCH_UP_SECONDS", 0.0)
    assert started(resume_end=3)[0].caught_up()
