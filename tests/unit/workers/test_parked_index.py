import pytest

from parkway.workers.parked import Entry, Origin, ParkedIndex, Verdict

ORIGIN = Origin("ns.action.chat", 0, 7, "hash")


def entry(waits_for: str = "t1", deadline: int = 1_000) -> Entry:
    return Entry(b"{}", waits_for, deadline, ORIGIN)


@pytest.fixture
def index() -> ParkedIndex:
    """With request r parked, waiting for t1."""
    index = ParkedIndex()
    assert index.start("r", ORIGIN) is Verdict.NEW
    index.begin("r", entry())
    index.committed("r")
    return index


def test_the_same_request_again_is_a_repeat_and_another_one_a_conflict() -> None:
    index = ParkedIndex()
    assert index.start("r", ORIGIN) is Verdict.NEW
    for state in ("running", "committing", "parked"):
        if state == "committing":
            index.begin("r", entry())
        elif state == "parked":
            index.committed("r")
        assert index.start("r", Origin("ns.action.chat", 0, 9, "hash")) is Verdict.REPEAT, state
        assert index.start("r", Origin("ns.action.chat", 0, 9, "other")) is Verdict.CONFLICT, state
        assert index.start("r", ORIGIN) is Verdict.REPEAT, state


def test_after_the_end_a_repeat_is_a_new_request(index: ParkedIndex) -> None:
    assert index.claim("r") is not None
    index.begin("r", None)
    index.committed("r")
    assert index.start("r", ORIGIN) is Verdict.NEW


def test_a_response_finds_a_committing_entry_before_the_commit_returns() -> None:
    index = ParkedIndex()
    index.start("r", ORIGIN)
    index.begin("r", entry())
    assert index.waiting_for("t1") == "r"
    assert index.is_committing("r")
    assert index.claim("r") is None


def test_the_first_claim_wins(index: ParkedIndex) -> None:
    assert index.claim("r") is not None
    assert index.claim("r") is None
    assert list(index.overdue(2_000)) == []


def test_an_abort_withdraws_the_upsert_and_keeps_the_claim(index: ParkedIndex) -> None:
    index.claim("r")
    index.begin("r", entry("t2"))
    index.aborted("r")
    assert index.waiting_for("t2") is None
    assert index.waiting_for("t1") == "r"
    assert not index.is_committing("r")
    assert index.claim("r") is None
    index.begin("r", entry("t2"))
    index.committed("r")
    assert index.waiting_for("t1") is None
    assert index.waiting_for("t2") == "r"
    assert index.claim("r") is not None


def test_an_abort_of_a_first_park_leaves_no_entry() -> None:
    index = ParkedIndex()
    index.start("r", ORIGIN)
    index.begin("r", entry())
    index.aborted("r")
    assert index.waiting_for("t1") is None
    assert len(index) == 0
    assert index.start("r", Origin("x", 0, 1, "hash")) is Verdict.REPEAT


def test_the_sweep_sees_free_entries_only(index: ParkedIndex) -> None:
    assert list(index.overdue(999)) == []
    assert list(index.overdue(1_000)) == ["r"]
    index.claim("r")
    assert list(index.overdue(1_000)) == []
    index.begin("r", entry("t2"))
    assert list(index.overdue(1_000)) == []
    index.committed("r")
    assert list(index.overdue(1_000)) == ["r"]


SECRET = "0" * 31 + "1"
WITH_SECRET = Origin("ns.action.chat", 0, 7, "hash", SECRET)


def test_a_token_finds_its_request_from_the_first_call_to_the_end() -> None:
    index = ParkedIndex()
    index.start("r", WITH_SECRET)
    assert index.of_secret(SECRET) == "r"
    assert index.secret_of("r") == SECRET
    index.begin("r", Entry(b"{}", "t1", 1_000, WITH_SECRET))
    index.committed("r")
    assert index.of_secret(SECRET) == "r"
    index.claim("r")
    index.begin("r", None)
    index.committed("r")
    assert index.of_secret(SECRET) is None
    assert index.has_ended(None, SECRET)
    assert index.has_ended("r", None)


def test_a_token_that_is_made_when_the_request_is_parked_is_unknown_after_an_abort() -> None:
    index = ParkedIndex()
    index.start("r", ORIGIN)
    for _ in range(2):
        index.begin("r", Entry(b"{}", "t1", 1_000, WITH_SECRET))
        assert index.of_secret(SECRET) == "r"
        index.aborted("r")
        assert index.of_secret(SECRET) is None
    index.begin("r", None)
    index.committed("r")
    assert index.has_ended("r", None)


def test_a_restored_entry_is_found_by_its_token() -> None:
    index = ParkedIndex()
    index.load("r", Entry(b"{}", "t1", 1_000, WITH_SECRET))
    assert index.of_secret(SECRET) == "r"


def test_a_request_that_begins_again_has_not_ended(index: ParkedIndex) -> None:
    index.claim("r")
    index.begin("r", None)
    index.committed("r")
    assert index.has_ended("r", None)
    index.start("r", ORIGIN)
    assert not index.has_ended("r", None)
    assert not index.has_ended("other", None)


def test_the_memory_of_ends_is_bounded() -> None:
    index = ParkedIndex()
    for number in range(3_000):
        index.start(str(number), ORIGIN)
        index.begin(str(number), None)
        index.committed(str(number))
    assert index.has_ended("2999", None)
    assert not index.has_ended("0", None)
    assert index.open_requests == 0
