from parkway.workers.marks import CLEAN, Marks
from parkway.workers.poison import Standing
from parkway.workers.work import Lane

NEW, RESUME = Lane.NEW, Lane.RESUME


def committed(standing: Standing) -> dict[Lane, Marks]:
    """One transaction."""
    marks = dict(standing.sending())
    standing.committed()
    return marks


def after_death(marks: dict[Lane, Marks], end: int = 100) -> Standing:
    return restored(marks, end)


def restored(marks: dict[Lane, Marks], end: int = 100, *, begin: int = 0, own: bool = False) -> Standing:
    return Standing.restored(marks, {NEW: begin, RESUME: begin}, {NEW: end, RESUME: end}, own=own)


def test_nothing_starts_before_the_unclean_mark_is_committed() -> None:
    standing = Standing()
    assert not standing.may_start(NEW, 0, alone=False)
    assert standing.sending()[NEW].unclean
    assert not standing.may_start(NEW, 0, alone=False)
    standing.committed()
    assert standing.may_start(NEW, 0, alone=False)


def test_an_unclean_end_counts_a_death_and_suspects_what_may_have_run() -> None:
    standing = after_death(committed(Standing()), end=7)
    assert (standing.deaths, standing.died) == (1, True)
    assert [standing.urgency(NEW, offset) for offset in (0, 6, 7)] == [1, 1, 0]


def test_a_clean_end_counts_nothing_and_keeps_the_suspects_there_are() -> None:
    standing = after_death(committed(Standing()), end=7)
    standing.be_cautious({})
    standing.to_start(NEW, 3)
    standing.close()
    marks = committed(standing)
    assert not marks[NEW].unclean
    again = after_death(marks)
    assert (again.deaths, again.died) == (1, False)
    assert [again.urgency(NEW, offset) for offset in (6, 7)] == [1, 0]


def test_an_own_stamp_counts_nothing() -> None:
    marks = committed(Standing())
    assert restored(marks, own=True).deaths == 0
    alone = {NEW: Marks(unclean=True, deaths=7, suspects=8, started=4, alone=3)}
    kept = restored(alone, own=True)
    assert (kept.deaths, kept.suspects_end(NEW)) == (7, 8)
    assert kept.conviction(NEW, 3) is None


def test_maps_that_say_nothing_are_clean() -> None:
    assert restored({}).deaths == 0
    assert restored({NEW: CLEAN}).deaths == 0


def test_a_cautious_owner_is_followed_record_by_record() -> None:
    standing = after_death(committed(Standing()))
    standing.be_cautious({})
    committed(standing)
    assert not standing.may_start(NEW, 0, alone=False)
    assert standing.to_start(NEW, 0)
    assert not standing.to_start(NEW, 1), "the transaction that was asked for carries both"
    marks = committed(standing)
    assert standing.may_start(NEW, 1, alone=False)
    assert not standing.may_start(NEW, 2, alone=False)
    second = after_death(marks)
    assert second.deaths == 2
    assert [second.urgency(NEW, offset) for offset in (0, 1, 2)] == [2, 2, 0]
    assert second.urgency(RESUME, 0) == 0, "nothing was started there"


def test_who_dies_before_anything_was_started_changes_nothing() -> None:
    standing = restored(
        {NEW: Marks(unclean=True, deaths=3, suspects=9, started=5), RESUME: Marks(unclean=True, started=0)}, begin=5
    )
    assert (standing.deaths, standing.died) == (3, False)
    assert [standing.urgency(NEW, offset) for offset in (8, 9)] == [3, 0]
    assert restored({NEW: Marks(unclean=True, started=5), RESUME: Marks(unclean=True, started=0)}, begin=5).deaths == 0
    assert restored(committed(Standing()), 5, begin=5).deaths == 0, "an idle owner"


def test_suspects_that_did_not_run_are_free_when_others_did() -> None:
    standing = restored({NEW: Marks(unclean=True, deaths=3, suspects=9, started=7)}, begin=5)
    assert standing.deaths == 4
    assert [standing.urgency(NEW, offset) for offset in (6, 7)] == [4, 0]


def test_a_map_on_its_way_binds_as_much_as_the_committed_one() -> None:
    standing = Standing()
    committed(standing)
    standing.be_cautious({NEW: 4, RESUME: 0})
    assert standing.may_start(NEW, 9, alone=False), "the committed map allows it"
    standing.sending()
    assert not standing.may_start(NEW, 9, alone=False), "that one may be committed already"
    assert standing.may_start(NEW, 3, alone=False)


def test_free_again_nothing_starts_beyond_the_last_bound_before_a_map_says_so() -> None:
    standing = after_death(committed(Standing()), end=2)
    standing.be_cautious({})
    standing.to_start(NEW, 1)
    committed(standing)
    assert not standing.settle({NEW: 1, RESUME: 2})
    assert standing.settle({NEW: 2, RESUME: 2})
    standing.be_free()
    assert not standing.may_start(NEW, 2, alone=False)
    standing.to_start(NEW, 2)
    assert committed(standing)[NEW] == Marks(unclean=True)
    assert standing.may_start(NEW, 2, alone=False)


def alone(offset: int) -> Standing:
    standing = restored({NEW: Marks(deaths=3, suspects=9)})
    standing.be_cautious({})
    committed(standing)
    standing.to_start(NEW, offset, alone=True)
    return standing


def test_a_record_that_died_alone_is_convicted() -> None:
    standing = alone(5)
    assert not standing.may_start(NEW, 5, alone=True)
    marks = committed(standing)
    assert standing.may_start(NEW, 5, alone=True)
    assert marks[NEW].alone == 5
    assert marks[RESUME].alone is None
    verdict = after_death(marks).conviction(NEW, 5)
    assert verdict is not None
    assert (verdict.deaths, verdict.readable) == (4, True)


def test_one_that_ended_alone_is_not() -> None:
    standing = alone(5)
    committed(standing)
    assert standing.says_alone
    standing.finished(NEW, 5)
    assert standing.says_alone, "until it is committed"
    marks = committed(standing)
    assert not standing.says_alone
    assert after_death(marks).conviction(NEW, 5) is None


def test_an_owner_that_leaves_while_one_is_alone_convicts_nobody() -> None:
    standing = alone(5)
    committed(standing)
    standing.close()
    assert after_death(committed(standing)).conviction(NEW, 5) is None


def test_a_verdict_outlives_the_owner_that_was_to_carry_it_out() -> None:
    judge = after_death(committed_alone(5))
    judge.be_cautious({})
    second = after_death(committed(judge))
    verdict = second.conviction(NEW, 5)
    assert verdict is not None
    assert verdict.readable
    assert second.urgency(NEW, 5) > second.deaths, "before the other suspects"
    second.finished(NEW, 5)
    assert committed(second)[NEW].convicted is None


def test_a_record_that_kills_its_judge_alone_is_not_read_again() -> None:
    judge = after_death(committed_alone(5))
    judge.be_cautious({})
    judge.to_start(NEW, 5, alone=True)
    verdict = after_death(committed(judge)).conviction(NEW, 5)
    assert verdict is not None
    assert not verdict.readable


def test_another_that_dies_alone_while_a_verdict_stands_is_convicted_as_well() -> None:
    judge = after_death(committed_alone(5))
    judge.be_cautious({})
    judge.to_start(NEW, 2, alone=True)
    third = after_death(committed(judge))
    assert third.conviction(NEW, 2) is not None
    assert third.conviction(NEW, 5) is not None


def committed_alone(offset: int) -> dict[Lane, Marks]:
    return committed(alone(offset))


def test_suspects_end_with_the_log() -> None:
    """Where the log was cut or made again, a trial must end."""
    assert restored({NEW: Marks(unclean=True, deaths=2, started=50)}, 10).suspects_end(NEW) == 10
    assert restored({NEW: Marks(deaths=2, suspects=50)}, 10).suspects_end(NEW) == 10
