"""What every store does with the records that a restore has read."""

import pytest
from parked_records import SECRET, entry, parked, records

from parkway.workers.entry_store import EntryStore, MakeStore
from parkway.workers.entry_store_memory import MemoryEntries


@pytest.fixture
def store(make_store: MakeStore) -> EntryStore:
    return make_store()


def index(store: EntryStore) -> None:
    store.index(60)
    assert store.is_indexed


def test_what_was_loaded_is_found_by_its_id_at_once_and_by_all_else_when_it_is_indexed(store: EntryStore) -> None:
    one = entry("r", "t1", 1_000, secret=SECRET, size=500)
    store.load(records(r=one.value, other=parked("other", "t2"), person=parked("person", "", approvals={"c": SECRET})))
    assert len(store) == 3
    assert store.value_bytes > 500
    assert store.get("r") == one
    assert store.get("nobody") is None
    assert (store.waiting_for("t1"), store.of_secret(SECRET)) == ("r", "r"), "it was asked for"
    index(store)
    assert store.waiting_for("t2") == "other"
    assert store.of_approval(SECRET) == "person"
    assert set(store.due(1_000)) == {"r", "other", "person"}
    assert (len(store), store.awaiting_person) == (3, 1)
    assert store.take_broken() == []


def test_the_newest_record_counts_and_a_tombstone_ends(store: EntryStore) -> None:
    store.load(records(goes_on=parked("goes_on", "t1", size=800), ends=parked("ends"), stays=parked("stays", "t3")))
    store.load(records(goes_on=parked("goes_on", "t2"), ends=None, nobody=None))
    assert len(store) == 2
    index(store)
    assert (store.waiting_for("t1"), store.waiting_for("t2"), store.get("ends")) == (None, "goes_on", None)
    assert store.value_bytes == len(parked("goes_on", "t2")) + len(parked("stays", "t3"))


def test_what_is_loaded_on_top_of_an_index_takes_the_place_of_what_is_there(store: EntryStore) -> None:
    store.load(records(goes_on=parked("goes_on", "t1", 500), ends=parked("ends"), stays=parked("stays", "t3", 9_000)))
    index(store)
    store.load(records(goes_on=parked("goes_on", "t2", 9_000), ends=None, new=parked("new", "t4", 9_000)))
    assert len(store) == 3
    assert store.waiting_for("t1") is None
    assert list(store.due(8_000)) == []
    index(store)
    assert {store.waiting_for(one) for one in ("t2", "t3", "t4")} == {"goes_on", "stays", "new"}


def test_a_change_takes_the_place_of_what_was_only_loaded(store: EntryStore) -> None:
    store.load(records(a=parked("a", "t1"), b=parked("b", "t2", 400)))
    store.change({"a": entry("a", "t9"), "b": None})
    index(store)
    assert (store.waiting_for("t1"), store.waiting_for("t2"), store.waiting_for("t9")) == (None, None, "a")
    assert (len(store), store.value_bytes, list(store.due(500))) == (1, len(parked("a", "t9")), [])


def test_what_cannot_be_read_is_told_once_and_is_in_the_store_no_more(store: EntryStore) -> None:
    """Under the key of another, too; and what came before it is gone as well."""
    store.load(records(a=parked("a"), b=parked("b", "t2"), c=parked("c", "t3"), d=b"broken"))
    store.load(records(a=b"broken", c=parked("x"), d=parked("d", "t4")))
    assert store.get("a") is None, "asked for before its turn"
    store.index(60)
    assert not store.is_indexed, "somebody must take what is broken"
    broken = {one.key: one for one in store.take_broken()}
    assert set(broken) == {b"a/chat", b"c/chat"}
    assert (broken[b"a/chat"].value, broken[b"a/chat"].offset) == (b"broken", 7)
    assert "'x'" in broken[b"c/chat"].reason
    assert store.take_broken() == []
    assert (len(store), store.value_bytes) == (2, len(parked("b", "t2")) + len(parked("d", "t4")))
    assert (store.waiting_for("t3"), store.waiting_for("t4")) == (None, "d")


def test_what_was_broken_is_forgotten_when_something_takes_its_place(store: EntryStore) -> None:
    store.load(records(a=b"broken", b=b"broken", c=b"broken"))
    store.index(60)
    store.load(records(a=parked("a", "t1"), b=None))
    store.change({"c": entry("c", "t3")})
    index(store)
    assert store.take_broken() == []
    assert (store.waiting_for("t1"), store.waiting_for("t3"), len(store)) == ("a", "c", 2)


def test_a_secret_that_two_have_chosen_is_the_last_ones(store: EntryStore) -> None:
    store.load(records(a=parked("a", "t1", secret=SECRET), b=parked("b", "t2", secret=SECRET)))
    index(store)
    assert store.of_secret(SECRET) == "b"


def test_a_store_in_memory_indexes_a_little_at_a_time() -> None:
    store = MemoryEntries()
    store.load(records(**{f"r{n}": parked(f"r{n}", f"t{n}") for n in range(1_000)}))
    steps = 0
    while not store.is_indexed:
        store.index(1e-9)
        steps += 1
        assert len(store) == 1_000
        if steps == 3:
            store.load(records(r999=None, r0=None, new=parked("new", "t-new")))
            store.load(records(r999=parked("r999", "t-again")))
    assert steps > 10
    assert store.waiting_for("t-again") == "r999"
    assert (store.waiting_for("t0"), store.waiting_for("t-new"), store.waiting_for("t500")) == (None, "new", "r500")
