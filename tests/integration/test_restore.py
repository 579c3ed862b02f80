"""What a worker reads of `parked` when partitions come, and come back."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from installation import Installation, event, wait_for

from parkway.runtime.topology import topic_ids
from parkway.schemas.parked import Origin, ParkedRecord, parked_key
from parkway.workers.compacted import RestoreCancelledError
from parkway.workers.entry_store import EntryStore, MakeStore
from parkway.workers.entry_store_disk import Database
from parkway.workers.entry_store_memory import MemoryEntries
from parkway.workers.kept import Kept
from parkway.workers.restore import Restorer
from parkway.workers.restored import Restored

DEADLINE = 4_000_000_000_000  # in the year 2096


def parked(request_id: str, waits_for: str = "t1", text: str = "") -> bytes:
    return ParkedRecord(
        build="b",
        action="chat",
        record_key=None,
        origin=Origin(topic="x", partition=0, offset=0),
        request={"id": request_id, "type": "_chat_request_event", "attributes": {}},
        request_hash="hash",
        round=1,
        waits_for=waits_for,
        deadline=DEADLINE,
        state={"text": text},
    ).to_json()


def key(request_id: str) -> str:
    return parked_key(request_id, "chat").decode()


@pytest.fixture
def here(install: Callable[..., Installation]) -> Installation:
    return install("agents:Chats", partitions=1)


@pytest.fixture(params=["memory", "disk"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeStore]:
    if request.param == "memory":
        yield MemoryEntries
        return
    database = Database(tmp_path / "database")
    yield database.partition
    database.stop()


@pytest.fixture
def restore(here: Installation, make_store: MakeStore) -> Callable[..., Restored]:
    ids = topic_ids(here.admin, [here.topics.action("chat"), here.topics.resume("chat")])
    restorer = Restorer(
        here.settings, here.admin, planned=here.plan.action("chat"), topic_ids=ids, make_store=make_store
    )

    def run(kept: Kept | None = None, cancelled: threading.Event | None = None) -> Restored:
        return restorer.restore([0], {0: kept} if kept is not None else {}, cancelled or threading.Event())[0]

    return run


def waits(entries: EntryStore) -> dict[str, str]:
    """Request id -> the tool request that it waits for."""
    found = {one: entries.get(one) for one in ("stays", "ends", "goes-on", "new", "aborted")}
    assert len(entries) == sum(one is not None for one in found.values())
    return {name: one.waits_for for name, one in found.items() if one is not None}


def put(here: Installation, records: dict[str, bytes | None], action: str = "chat") -> None:
    for request_id, value in records.items():
        here.emit(value, topic=here.topics.parked, key=parked_key(request_id, action).decode(), partition=0)
    here.flush()


def open_transaction(here: Installation) -> Producer:
    """With a record of `parked`, as a dead predecessor leaves it."""
    producer = Producer(
        {"bootstrap.servers": here.settings.bootstrap_servers, "transactional.id": "dead", "log_level": 0}
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(here.topics.parked, parked("aborted"), key("aborted"), 0)
    producer.flush()
    return producer


def test_what_another_owner_wrote_in_between_is_caught_up(here: Installation, restore: Callable[..., Restored]) -> None:
    put(here, {"stays": parked("stays"), "ends": parked("ends"), "goes-on": parked("goes-on")})
    first = restore()
    assert set(waits(first.entries)) == {"stays", "ends", "goes-on"}
    assert first.parked_upto == 3
    put(here, {"ends": None, "goes-on": parked("goes-on", "t2"), "new": parked("new")})
    put(here, {"new": b"not ours"}, action="other")
    again = restore(Kept(first.entries, first.parked_upto))
    assert again.parked_from == 3
    assert waits(again.entries) == {"stays": "t1", "goes-on": "t2", "new": "t1"}
    assert waits(again.entries) == waits(restore().entries)
    twice = restore(Kept(first.entries, first.parked_upto))
    assert waits(twice.entries) == waits(again.entries), "a restore that was cancelled is begun again on what it left"


def test_a_cancelled_restore_leaves_what_another_can_build_upon(
    here: Installation, restore: Callable[..., Restored]
) -> None:
    put(here, {"stays": parked("stays"), "ends": parked("ends")})
    first = restore()
    put(here, {"ends": None, "stays": parked("stays", "t2"), "new": parked("new"), "goes-on": parked("goes-on")})
    producer = open_transaction(here)  # behind these, so that the restore reads them and does not come to its end
    cancelled = threading.Event()
    kept = Kept(first.entries, first.parked_upto)
    failure: list[BaseException] = []

    def run() -> None:
        try:
            restore(kept, cancelled)
        except RestoreCancelledError as error:
            failure.append(error)

    reading = threading.Thread(target=run)
    reading.start()
    wait_for("some of it is read", lambda: len(first.entries) == 3)
    cancelled.set()
    reading.join(30)
    assert failure
    producer.abort_transaction(30)
    assert waits(restore(kept).entries) == {"stays": "t2", "new": "t1", "goes-on": "t1"}


def test_what_another_owner_left_uncommitted_is_waited_for_and_not_seen(
    here: Installation, restore: Callable[..., Restored]
) -> None:
    put(here, {"stays": parked("stays")})
    first = restore()
    producer = open_transaction(here)
    found: list[Restored] = []
    reading = threading.Thread(target=lambda: found.append(restore(Kept(first.entries, first.parked_upto))))
    reading.start()
    reading.join(1.0)
    assert not found, "an open transaction holds the restore back"
    producer.abort_transaction(30)
    reading.join(30)
    assert set(waits(found[0].entries)) == {"stays"}


def test_an_index_of_another_log_is_not_built_upon(here: Installation, restore: Callable[..., Restored]) -> None:
    put(here, {"ends": parked("ends")})
    other = restore().entries
    put(here, {"ends": None, "stays": parked("stays")})
    again = restore(Kept(other, 1_000))
    assert again.parked_from == 0
    assert set(waits(again.entries)) == {"stays"}


def restored(here: Installation, name: str) -> list[dict[str, object]]:
    return [line for line in here.log_lines(name) if line["event"] == "restored"]


def test_a_partition_that_comes_back_is_not_read_again(here: Installation) -> None:
    count = 100_000
    for number in range(count):
        here.emit(parked(f"r{number}", f"t{number}"), topic=here.topics.parked, key=key(f"r{number}"), partition=0)
    here.flush()
    here.worker("w0", "chat")
    wait_for("the first restore", lambda: restored(here, "w0"), 60)
    other = here.worker("w1", "chat")  # `range`: the partition stays with w0
    here.wait_members(here.topics.worker_group("chat"), 2)
    wait_for("the second restore", lambda: len(restored(here, "w0")) == 2)
    other.terminate()
    other.wait()
    wait_for("the third restore", lambda: len(restored(here, "w0")) == 3)
    first, *again = restored(here, "w0")
    assert first["read"] >= count
    assert first["caught_up_from"] == {}
    for one in again:
        assert one["parked"] == count
        assert one["caught_up_from"] == {"0": count}
        assert one["read"] <= 1  # the event of the partition's end


@pytest.mark.parametrize("store", ["memory", "disk"])
def test_what_a_worker_parked_itself_is_not_read_again_either(
    install: Callable[..., Installation], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str
) -> None:
    """Partitions move to another worker and back while chats go on: entries of both are seen, and end once."""
    monkeypatch.setenv("PARKWAY_PARKED_STORE", store)
    monkeypatch.setenv("PARKWAY_PARKED_DIR", str(tmp_path / "parked"))
    here = install("agents:Chats", partitions=2)
    here.router()
    here.worker("w0", "chat", TEST_NOTES=str(tmp_path))
    here.worker("w2", "ask", "answer")

    def ask(numbers: range) -> None:
        for number in numbers:
            here.emit(event("question", number=number, rounds=1), partition=number % 2)
        here.flush()

    ask(range(20))
    wait_for("twenty are parked", lambda: len(here.parked()) == 20)
    other = here.worker("w1", "chat", TEST_NOTES=str(tmp_path))
    here.wait_members(here.topics.worker_group("chat"), 2)
    ask(range(20, 40))
    wait_for("forty are parked", lambda: len(here.parked()) == 40)
    other.terminate()
    other.wait()
    wait_for("it is all w0's again", lambda: len(restored(here, "w0")) == 3)
    both = restored(here, "w0")[2]
    assert both["parked"] == 40
    caught_up = both["caught_up_from"]
    assert isinstance(caught_up, dict)
    assert set(caught_up) == {"0", "1"}
    assert both["read"] < 40, "only what the other one wrote"
    here.worker("w3", "tool", TEST_NOTES=str(tmp_path))
    here.wait_read(here.topics.outputs, 40)
    here.wait_all_done()
    outputs = [one.json["attributes"]["output"]["number"] for one in here.read(here.topics.outputs)]
    assert Counter(outputs) == Counter(range(40))
    assert here.parked() == {}
    assert len((tmp_path / "model.notes").read_text().splitlines()) == 80
