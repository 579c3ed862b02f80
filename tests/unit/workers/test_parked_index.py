import pytest
from parked_records import SECRET, entry

from parkway.workers.entry import Origin
from parkway.workers.entry_store import MakeStore
from parkway.workers.parked import ParkedIndex, Verdict

ORIGIN = Origin("ns.action.chat", 0, 7, "hash")
WITH_SECRET = Origin("ns.action.chat", 0, 7, "hash", SECRET)


@pytest.fixture
def new(make_store: MakeStore) -> ParkedIndex:
    return ParkedIndex(make_store())


@pytest.fixture
def index(new: ParkedIndex) -> ParkedIndex:
    """With request r parked, waiting for t1."""
    assert new.start("r", ORIGIN) is Verdict.NEW
    new.begin("r", entry())
    new.committed("r")
    return new


def test_the_same_request_again_is_a_repeat_and_another_one_a_conflict(new: ParkedIndex) -> None:
    assert new.start("r", ORIGIN) is Verdict.NEW
    for state in ("running", "committing", "parked"):
        if state == "committing":
            new.begin("r", entry())
        elif state == "parked":
            new.committed("r")
        assert new.start("r", Origin("ns.action.chat", 0, 9, "hash")) is Verdict.REPEAT, state
        assert new.start("r", Origin("ns.action.chat", 0, 9, "other")) is Verdict.CONFLICT, state
        assert new.start("r", ORIGIN) is Verdict.REPEAT, state


def test_after_the_end_a_repeat_is_a_new_request(index: ParkedIndex) -> None:
    assert index.claim("r") is not None
    index.begin("r", None)
    index.committed("r")
    assert index.start("r", ORIGIN) is Verdict.NEW


def test_a_response_finds_a_committing_entry_before_the_commit_returns(new: ParkedIndex) -> None:
    new.start("r", ORIGIN)
    new.begin("r", entry())
    assert new.waiting_for("t1") == "r"
    assert new.is_committing("r")
    assert new.claim("r") is None


def test_the_first_claim_wins(index: ParkedIndex) -> None:
    assert index.claim("r") is not None
    assert index.claim("r") is None
    assert index.overdue(2_000, 10) == []


def test_an_abort_withdraws_the_upsert_and_keeps_the_claim(index: ParkedIndex) -> None:
    index.claim("r")
    index.begin("r", entry("r", "t2"))
    index.aborted("r")
    assert index.waiting_for("t2") is None
    assert index.waiting_for("t1") == "r"
    assert not index.is_committing("r")
    assert index.claim("r") is None
    index.begin("r", entry("r", "t2"))
    index.committed("r")
    assert index.waiting_for("t1") is None
    assert index.waiting_for("t2") == "r"
    assert index.claim("r") is not None


def test_an_abort_of_a_first_park_leaves_no_entry(new: ParkedIndex) -> None:
    new.start("r", ORIGIN)
    new.begin("r", entry())
    new.aborted("r")
    assert new.waiting_for("t1") is None
    assert len(new) == 0
    assert new.start("r", Origin("x", 0, 1, "hash")) is Verdict.REPEAT


def test_the_sweep_sees_free_entries_only(index: ParkedIndex) -> None:
    assert index.overdue(999, 10) == []
    assert index.overdue(1_000, 10) == ["r"]
    index.claim("r")
    assert index.overdue(1_000, 10) == []
    index.begin("r", entry("r", "t2"))
    assert index.overdue(1_000, 10) == []
    index.committed("r")
    assert index.overdue(1_000, 10) == ["r"]


def test_a_token_finds_its_request_from_the_first_call_to_the_end(new: ParkedIndex) -> None:
    new.start("r", WITH_SECRET)
    assert new.of_secret(SECRET) == "r"
    assert new.secret_of("r") == SECRET
    new.begin("r", entry(secret=SECRET))
    new.committed("r")
    assert new.of_secret(SECRET) == "r"
    new.claim("r")
    new.begin("r", None)
    new.committed("r")
    assert new.of_secret(SECRET) is None
    assert new.has_ended(None, SECRET)
    assert new.has_ended("r", None)


def test_a_token_that_is_made_when_the_request_is_parked_is_unknown_after_an_abort(new: ParkedIndex) -> None:
    new.start("r", ORIGIN)
    for _ in range(2):
        new.begin("r", entry(secret=SECRET))
        assert new.of_secret(SECRET) == "r"
        new.aborted("r")
        assert new.of_secret(SECRET) is None
    new.begin("r", None)
    new.committed("r")
    assert new.has_ended("r", None)


def test_restored_entries_are_all_there(make_store: MakeStore) -> None:
    store = make_store()
    store.change({"r": entry(secret=SECRET)})
    index = ParkedIndex(store)
    assert index.of_secret(SECRET) == "r"
    assert index.waiting_for("t1") == "r"
    assert index.start("r", WITH_SECRET) is Verdict.REPEAT
    assert (len(index), index.open_requests) == (1, 1)
    assert index.claim("r") == entry(secret=SECRET)


def test_the_store_holds_what_is_committed_and_nothing_else(make_store: MakeStore) -> None:
    store = make_store()
    index = ParkedIndex(store)
    index.start("r", WITH_SECRET)
    index.begin("r", entry(secret=SECRET))
    assert index.committed_entries() is None
    assert store.get("r") is None
    index.aborted("r")
    assert store.get("r") is None
    assert index.of_secret(SECRET) == "r", "its request brought it along"
    index.begin("r", entry(secret=SECRET))
    index.committed("r")
    assert store.get("r") == entry(secret=SECRET)
    assert index.committed_entries() is store
    index.claim("r")
    index.begin("r", None)
    index.aborted("r")
    assert store.get("r") == entry(secret=SECRET)
    assert index.of_secret(SECRET) == "r"
    index.begin("r", None)
    index.committed("r")
    assert store.get("r") is None
    assert (index.of_secret(SECRET), index.waiting_for("t1")) == (None, None)


def test_the_sweep_takes_no_more_than_it_may(new: ParkedIndex) -> None:
    for number in range(5):
        new.start(f"r{number}", ORIGIN)
        new.begin(f"r{number}", entry(f"r{number}", f"t{number}"))
        new.committed(f"r{number}")
    first = new.overdue(1_000, 3)
    assert len(first) == 3
    for request_id in first:
        new.claim(request_id)
    assert set(new.overdue(1_000, 3)) == {f"r{number}" for number in range(5)} - set(first)


def test_a_request_that_begins_again_has_not_ended(index: ParkedIndex) -> None:
    index.claim("r")
    index.begin("r", None)
    index.committed("r")
    assert index.has_ended("r", None)
    index.start("r", ORIGIN)
    assert not index.has_ended("r", None)
    assert not index.has_ended("other", None)


def test_the_memory_of_ends_is_bounded(new: ParkedIndex) -> None:
    for number in range(3_000):
        new.start(str(number), ORIGIN)
        new.begin(str(number), None)
        new.committed(str(number))
    assert new.has_ended("2999", None)
    assert not new.has_ended("0", None)
    assert new.open_requests == 0
