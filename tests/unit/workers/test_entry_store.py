"""What every store of parked entries does."""

import gc
import random
import string
from pathlib import Path

import pytest
from parked_records import SECRET, entry

from parkway.runtime.settings import Settings
from parkway.workers.entry import Entry
from parkway.workers.entry_store import EntryStore, EntryStoreError, MakeStore
from parkway.workers.entry_store_disk import Database
from parkway.workers.stores import ParkedStoreError, Stores

OTHER_SECRET = "0" * 31 + "2"


@pytest.fixture
def store(make_store: MakeStore) -> EntryStore:
    return make_store()


def test_an_entry_is_found_by_its_id_by_what_it_waits_for_and_by_its_secret(store: EntryStore) -> None:
    one = entry("r", "t1", 1_000, secret=SECRET, size=500)
    store.change({"r": one, "other": entry("other", "t2")})
    assert store.get("r") == one
    assert store.get("nobody") is None
    assert (store.waiting_for("t1"), store.waiting_for("t2"), store.waiting_for("r")) == ("r", "other", None)
    assert (store.of_secret(SECRET), store.of_secret(OTHER_SECRET)) == ("r", None)
    assert len(store) == 2


def test_an_entry_that_is_replaced_leaves_nothing_behind(store: EntryStore) -> None:
    store.change({"r": entry("r", "t1", 1_000, secret=SECRET, size=500)})
    new = entry("r", "t2", 9_000, secret=OTHER_SECRET, size=900)
    store.change({"r": new})
    assert store.get("r") == new
    assert (store.waiting_for("t1"), store.waiting_for("t2")) == (None, "r")
    assert (store.of_secret(SECRET), store.of_secret(OTHER_SECRET)) == (None, "r")
    assert list(store.due(8_000)) == []
    assert list(store.due(9_000)) == ["r"]
    assert (len(store), store.value_bytes) == (1, len(new.value))


def test_an_entry_that_is_taken_out_leaves_nothing_behind(store: EntryStore) -> None:
    store.change({"r": entry(secret=SECRET)})
    store.change({"r": None, "nobody": None})
    assert store.get("r") is None
    assert store.waiting_for("t1") is None
    assert store.of_secret(SECRET) is None
    assert list(store.due(2_000)) == []
    assert (len(store), store.value_bytes) == (0, 0)


def test_what_waits_for_a_person_is_found_by_each_of_its_tokens_and_counted(store: EntryStore) -> None:
    store.change({"t": entry("t", "", approvals={"a": SECRET, "b": OTHER_SECRET}), "r": entry("r", "t1")})
    assert (store.of_approval(SECRET), store.of_approval(OTHER_SECRET)) == ("t", "t")
    assert store.of_secret(SECRET) is None, "it cancels nothing"
    assert (store.awaiting_person, len(store)) == (1, 2)
    assert store.waiting_for("") is None
    store.change({"t": entry("t", "", approvals={"b": OTHER_SECRET})})
    assert (store.of_approval(SECRET), store.of_approval(OTHER_SECRET)) == (None, "t")
    store.change({"t": None})
    assert (store.of_approval(OTHER_SECRET), store.awaiting_person) == (None, 0)


def test_a_secret_that_two_have_chosen_is_the_last_ones(store: EntryStore) -> None:
    store.change({"a": entry("a", "t1", secret=SECRET)})
    store.change({"b": entry("b", "t2", secret=SECRET)})
    store.change({"a": None})
    assert store.of_secret(SECRET) == "b"


def test_what_is_due_is_found_whenever_it_came(store: EntryStore) -> None:
    store.change({f"r{n}": entry(f"r{n}", f"t{n}", n * 1_000) for n in range(1, 6)})
    assert list(store.due(900)) == []
    assert set(store.due(3_000)) == {"r1", "r2", "r3"}
    assert set(store.due(3_050)) == {"r1", "r2", "r3"}, "until it ends"
    store.change({"r1": None, "r2": None, "r5": None})
    assert set(store.due(4_000)) == {"r3", "r4"}
    store.change({"r3": None, "r4": None, "late": entry("late", "t9", 100)})  # overdue when it comes
    assert set(store.due(5_000)) == {"late"}
    store.change({"late": entry("late", "t9", 7_000)})
    assert set(store.due(6_000)) == set()
    assert set(store.due(7_000)) == {"late"}


def test_deadlines_of_any_size_are_kept(store: EntryStore) -> None:
    store.change({"never": entry("never", "t1", 10**18), "once": entry("once", "t2", 0)})
    assert list(store.due(1_700_000_000_000)) == ["once"]


def test_names_that_utf8_does_not_know_are_nobodys(store: EntryStore) -> None:
    assert store.waiting_for("\ud800") is None
    assert store.get("\ud800") is None


def test_names_of_one_kind_are_not_taken_for_those_of_another(store: EntryStore) -> None:
    store.change({"t1": entry("t1", "r"), "r": entry("r", "t1")})
    assert store.waiting_for("t1") == "r"
    assert store.waiting_for("r") == "t1"


def test_partitions_do_not_see_each_other(make_store: MakeStore) -> None:
    one, other = make_store(), make_store()
    one.change({"r": entry(size=10)})
    other.change({"r": entry(waits_for="t2", deadline=2_000)})
    assert one.waiting_for("t2") is None
    assert list(one.due(5_000)) == ["r"]
    del other
    gc.collect()
    assert one.get("r") == entry(size=10)


def test_the_same_changes_once_more_change_nothing(make_store: MakeStore) -> None:
    """What a cancelled restore has done is done again by the next one."""
    chance = random.Random(7)
    names = list(string.ascii_lowercase[:8])
    log: list[dict[str, Entry | None]] = []
    for number in range(60):
        name = chance.choice(names)
        upsert = entry(name, f"t{number}", chance.randrange(1_000, 5_000), secret=f"{number:032x}", size=number)
        log.append({name: chance.choice([upsert, upsert, None])})
    whole, again = make_store(), make_store()
    for change in log:
        whole.change(change)
    for change in [*log[:20], *log[:45], *log[20:]]:
        again.change(change)
    seen = _seen(whole, names)
    assert _seen(again, names) == seen
    assert len(whole) > 2
    last: dict[str, Entry | None] = {}
    for change in log:
        last.update(change)
    at_once = make_store()
    at_once.change(last)  # as a restore does with what it reads at once
    assert _seen(at_once, names) == seen


def _seen(store: EntryStore, names: list[str]) -> list[object]:
    return [
        [store.get(name) for name in names],
        {f"t{number}": store.waiting_for(f"t{number}") for number in range(60)},
        {number: store.of_secret(f"{number:032x}") for number in range(60)},
        {now: set(store.due(now)) for now in range(1_000, 5_200, 200)},
        (len(store), store.value_bytes),
    ]


# -- on disk


def test_a_store_on_disk_takes_little_memory_and_gives_its_space_back(tmp_path: Path) -> None:
    database = Database(tmp_path / "chat")
    store = database.partition()
    store.change({f"r{n}": entry(f"r{n}", f"t{n}", size=1_000) for n in range(1_000)})
    assert store.value_bytes > 1_000_000
    assert store.resident_bytes < 10_000
    assert database.rocks.get(b"\0\0\0\0er1") is not None
    del store
    assert database.rocks.get(b"\0\0\0\0er1") is None, "nobody holds it any more"
    assert database.partition().get("r1") is None
    database.stop()


def test_a_store_that_cannot_be_read_says_what_to_do(tmp_path: Path) -> None:
    database = Database(tmp_path / "chat")
    store = database.partition()
    database.rocks.close()
    for call in (lambda: store.get("r"), lambda: store.change({"r": entry()}), lambda: list(store.due(1))):
        with pytest.raises(EntryStoreError, match=f"{tmp_path}.*PARKWAY_PARKED_DIR"):
            call()


def disk(folder: Path) -> Settings:
    return Settings(namespace="ns", parked_store="disk", parked_dir=folder)


def test_what_a_dead_process_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    neighbour = tmp_path / "ns.w1" / "chat" / "file"
    left = tmp_path / "ns.w0" / "chat" / "file"
    for file in (neighbour, left):
        file.parent.mkdir(parents=True)
        file.write_bytes(b"left")
    stores = Stores(disk(tmp_path), "w0")
    assert not left.exists()
    assert (tmp_path / "ns.w0").stat().st_mode & 0o077 == 0, "prompts are in it"
    stores.of_action("chat")().change({"r": entry()})
    assert (tmp_path / "ns.w0" / "chat").is_dir()
    stores.remove()
    assert not (tmp_path / "ns.w0").exists()
    assert neighbour.exists()


def test_memory_needs_no_folder(tmp_path: Path) -> None:
    stores = Stores(Settings(namespace="ns", parked_dir=tmp_path / "parked"), "w0")
    stores.of_action("chat")().change({"r": entry()})
    stores.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named_with_the_way_out(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(ParkedStoreError, match=rf"{file}.*Not a directory.*PARKWAY_PARKED_DIR"):
        Stores(disk(file), "w0")


def test_a_database_that_cannot_be_opened_is_named_with_the_way_out(tmp_path: Path) -> None:
    stores = Stores(disk(tmp_path), "w0")
    (tmp_path / "ns.w0" / "chat").touch()
    with pytest.raises(ParkedStoreError, match=r"ns\.w0/chat.*PARKWAY_PARKED_DIR"):
        stores.of_action("chat")


def test_the_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "rocksdict", None)
    with pytest.raises(ParkedStoreError, match=r"PARKWAY_PARKED_STORE=disk.*parkway\[disk\]"):
        Stores(disk(tmp_path), "w0")
    assert list(tmp_path.iterdir()) == []
