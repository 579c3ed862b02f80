from pathlib import Path

from parked_records import entry

from parkway.workers.entry_store import EntryStore, MakeStore
from parkway.workers.entry_store_disk import Database
from parkway.workers.entry_store_memory import MemoryEntries
from parkway.workers.kept import KEPT_SECONDS, Kept, KeptIndexes


def entries(count: int, make_store: MakeStore = MemoryEntries) -> EntryStore:
    store = make_store()
    store.change({f"r{number}": entry(f"r{number}", f"t{number}", size=1_000) for number in range(count)})
    return store


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_an_index_is_kept_for_a_minute(make_store: MakeStore) -> None:
    clock = Clock()
    kept = KeptIndexes("chat", 1_000_000, clock)
    kept.keep(0, Kept(entries(3, make_store), 17))
    clock.now += KEPT_SECONDS - 0.1
    assert kept.of([0, 1])[0].upto == 17
    assert kept.of([0])[0].entries.waiting_for("t2") == "r2"
    clock.now += 0.1
    assert kept.of([0]) == {}
    assert kept.bytes() == 0


def test_the_newest_state_of_a_partition_counts_and_its_minute_begins_anew() -> None:
    clock = Clock()
    kept = KeptIndexes("chat", 1_000_000, clock)
    kept.keep(0, Kept(entries(3), 17))
    clock.now += KEPT_SECONDS - 1
    kept.keep(0, Kept(entries(1), 20))
    clock.now += 2
    assert kept.of([0])[0].upto == 20
    assert len(kept.of([0])[0].entries) == 1


def test_what_is_kept_is_bounded_and_the_oldest_goes_first() -> None:
    kept = KeptIndexes("chat", 1_000_000, Clock())
    for partition in range(3):
        kept.keep(partition, Kept(entries(200), 17))
    assert set(kept.of(range(3))) == {1, 2}
    kept.keep(3, Kept(entries(1000), 17))  # more than may be kept at all
    assert kept.of(range(4)) == {}


def test_what_an_assignment_has_taken_over_is_forgotten() -> None:
    kept = KeptIndexes("chat", 1_000_000, Clock())
    kept.keep(0, Kept(entries(1), 1))
    kept.keep(1, Kept(entries(1), 1))
    kept.forget([0])
    assert set(kept.of([0, 1])) == {1}


def test_what_is_kept_on_disk_counts_little(tmp_path: Path) -> None:
    database = Database(tmp_path / "chat")
    kept = KeptIndexes("chat", 1_000_000, Clock())
    for partition in range(3):
        kept.keep(partition, Kept(entries(2_000, database.partition), 17))
    assert set(kept.of(range(3))) == {0, 1, 2}
    assert len(kept.of([0])[0].entries) == 2_000
    database.stop()
