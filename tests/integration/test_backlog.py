"""More work than can be done at once: continuations first, limits of the whole installation, blocked consumers."""

import os
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from installation import Installation, event, wait_for

CHATS = int(os.environ.get("TEST_BACKLOG", "1200"))  # 10,000 take some four minutes


def chat(model: str, text: str, chat_id: str) -> dict[str, object]:
    return event("_chat_request_event", chat_id, model=model, messages=[{"role": "user", "content": text}])


@pytest.mark.timeout(240 + CHATS // 5)
def test_under_a_backlog_the_first_chats_finish_first_and_none_is_late(install: Callable[..., Installation]) -> None:
    """Every chat has a second call behind its tool. Were continuations queued behind new work, all would be late."""
    open_at_once, seconds = 15, 14  # a chat takes half a second, on a busy machine some
    here = install("agents:Replies")
    here.router()
    for number in range(CHATS):
        here.emit(chat("assistant", f"1 rounds for {number}", str(number)), key=f"k{number}")
    here.flush()
    here.wait_no_lag(here.topics.router_group, here.topics.requests)
    asked = {one.json["id"]: (one.partition, one.offset) for one in here.read(here.topics.action("chat"))}
    limits = {"PARKWAY_MAX_OPEN": str(open_at_once), "PARKWAY_REQUEST_DEADLINE": str(seconds)}
    here.worker("w1", "tool")
    here.wait_members(here.topics.worker_group("tool"), 1)
    started = here.broker_time()
    here.worker("w0", "chat", PARKWAY_CONCURRENCY="5", TEST_MODEL_SECONDS="0.05", **limits)
    answers = here.wait_read(here.topics.outputs, CHATS, seconds=60 + CHATS / 10)
    assert here.broker_time() - started > 1.5 * seconds * 1000, "too short a run to show anything"
    failed = Counter(str(one.json["attributes"]["error"]) for one in answers if not one.json["attributes"]["success"])
    assert not failed
    order: dict[int, list[int]] = {}
    for one in answers:
        partition, offset = asked[one.json["attributes"]["request_id"]]
        order.setdefault(partition, []).append(offset)
    for offsets in order.values():
        ranks = {offset: rank for rank, offset in enumerate(sorted(offsets))}
        assert max(abs(ranks[offset] - place) for place, offset in enumerate(offsets)) <= 3 * open_at_once
    here.wait_all_done()
    assert here.parked() == {}


def test_a_chat_on_behalf_of_a_parked_one_is_never_behind_new_work(install: Callable[..., Installation]) -> None:
    """One open request at most: the inner chat of each would wait for the outer one's place."""
    here = install("queue_agents:Nested", partitions=1)
    here.router()
    for number in range(5):
        here.emit(chat("outer", "go", str(number)), key="k")
    here.flush()
    here.wait_no_lag(here.topics.router_group, here.topics.requests)
    here.worker("w0", "chat", "take-over", "hand-back", PARKWAY_MAX_OPEN="1")
    answers = here.wait_read(here.topics.outputs, 5)
    assert [one.json["attributes"]["request_id"] for one in answers] == [str(number) for number in range(5)]
    assert {one.json["attributes"]["response"]["content"] for one in answers} == {"heard 7: []"}
    inner = [
        one for one in here.read(here.topics.resume("chat")) if one.headers["parkway-type"] == b"_chat_request_event"
    ]
    assert [one.headers["parkway-parent"] for one in inner] == [f"{number}/chat".encode() for number in range(5)]
    assert len(here.read(here.topics.action("chat"))) == 5
    assert here.parked() == {}


def test_two_workers_stay_at_the_installations_rate(install: Callable[..., Installation], tmp_path: Path) -> None:
    here = install("queue_agents:Limited", partitions=4)
    here.router()
    for number in range(160):
        here.emit(event("limited", number=number), partition=number % 4)
    here.flush()
    notes = tmp_path / "limited.notes"
    here.worker("w0", "limited", TEST_NOTES=str(tmp_path))
    wait_for("one worker runs", lambda: notes.exists() and len(notes.read_text().splitlines()) > 30)
    here.worker("w1", "limited", TEST_NOTES=str(tmp_path))
    here.wait_read(here.topics.outputs, 160)
    starts = sorted(float(line.split()[0]) for line in notes.read_text().splitlines())
    workers = {line.split()[1] for line in notes.read_text().splitlines()}
    assert len(starts) == 160
    assert len(workers) == 2
    for first, start in enumerate(starts):
        within = sum(start <= other < start + 3 for other in starts[first:])
        assert within <= 3 * 10 + 10 + 2, "more than the rate and a burst in three seconds"
    assert starts[-1] - starts[0] < 160 / 10 + 10, "the rate is not used"


def test_a_limited_model_holds_up_no_other(install: Callable[..., Installation]) -> None:
    """Two places, and 40 chats before it that wait for a model's limit: the others go past them, none of them is late."""
    here = install("queue_agents:LimitedChats", partitions=1)
    here.router()
    for number in range(40):
        here.emit(chat("slow", f"0 rounds for {number}", f"slow-{number}"))
    for number in range(40):
        here.emit(chat("fast", f"0 rounds for {number}", f"fast-{number}"))
    here.flush()
    here.wait_no_lag(here.topics.router_group, here.topics.requests)
    here.worker("w0", "chat", "tool", PARKWAY_CONCURRENCY="2", PARKWAY_REQUEST_DEADLINE="5")
    here.wait_read(here.topics.outputs, 1)
    late = chat("slow", "0 rounds for 1", "late")  # its turn would come in 20 s
    here.emit(late, headers={"parkway-deadline": str(here.broker_time() + 5_000)})
    here.flush()
    answers = here.wait_read(here.topics.outputs, 81)
    by_id = {one.json["attributes"]["request_id"]: one.json["attributes"] for one in answers}
    ended_late = by_id.pop("late")
    assert [one["error"] for one in by_id.values() if not one["success"]] == []
    first = [one.json["attributes"]["request_id"] for one in answers[:45]]
    assert sum(name.startswith("fast") for name in first) >= 38
    assert ended_late["error"]["type"] == "deadline_exceeded"
    assert "it waited for the limits of chat model slow" in ended_late["error"]["message"]


def test_a_call_longer_than_the_poll_interval_and_a_full_buffer_cost_nothing(
    install: Callable[..., Installation], tmp_path: Path
) -> None:
    here = install("queue_agents:Steady", partitions=1)
    here.router()
    here.emit(event("steady", number=0, wait=16))
    for number in range(1, 1500):
        here.emit(event("steady", number=number))
    here.flush()
    here.wait_no_lag(here.topics.router_group, here.topics.requests)
    environment = {"TEST_NOTES": str(tmp_path), "PARKWAY_KAFKA_MAX_POLL_INTERVAL_MS": "6000"}
    here.worker("w0", "steady", **environment)
    here.wait_all_done_for("steady")
    here.wait_no_lag(here.topics.worker_group("steady"), here.topics.action("steady"))
    times = [float(line) for line in (tmp_path / "steady.notes").read_text().split()]
    assert len(times) == 1500
    assert max(after - before for before, after in pairwise(times)) < 0.5, "slow to wake up"
    assigned = [line for line in here.log_lines("w0") if line["event"] == "assigned"]
    assert len(assigned) == 1, "it lost its membership"
