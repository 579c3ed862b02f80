"""Found by attacking: each of these once stopped a router or a worker, or lost a record."""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from confluent_kafka.admin import NewTopic
from installation import Installation, event, wait_for


def numbers(here: Installation) -> Counter[int]:
    return Counter(one.json["attributes"]["output"]["number"] for one in here.read(here.topics.outputs))


def test_a_huge_header_among_many_records_is_refused_alone(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders", partitions=1)
    here.emit(event("order", number=-1), headers={"parkway-tenant": "x" * 2_500_000})
    for number in range(2_000):
        here.emit(event("order", number=number))
    here.flush()
    here.router()
    (dead,) = here.wait_read(here.topics.dlq, 1)
    assert dead.headers["parkway-error-type"] == b"too_large"
    assert len(here.wait_read(here.topics.action("process"), 2_000)) == 2_000


def test_a_result_that_is_too_large_among_many_is_replaced_alone(install: Callable[..., Installation]) -> None:
    here = install("agents:Large", partitions=1)
    here.router()
    here.emit(event("burst", "bad", size=3_000_000, count=20_000))
    for number in range(5):
        here.emit(event("make", f"good-{number}", size=10))
    here.flush()
    here.worker("w0")
    (dead,) = here.wait_read(here.topics.dlq, 1)
    assert dead.json["id"] == "bad"
    here.wait_read(here.topics.outputs, 5)
    here.wait_all_done()
    assert len(here.read(here.topics.outputs)) == 5


def test_a_reply_topic_that_is_deleted_costs_nobody_else_anything(install: Callable[..., Installation]) -> None:
    here = install("agents:Replies", partitions=1)
    reply_to = "replies-" + here.settings.namespace
    here.admin.create_topics([NewTopic(reply_to, num_partitions=1, replication_factor=1)])[reply_to].result()
    here.apply(here.plan.model_copy(update={"reply_topics": (reply_to,)}))
    wait_for("the reply topic", lambda: reply_to in here.admin.list_topics(timeout=10).topics)
    here.router()
    here.worker("w0", TEST_MODEL_SECONDS="0.01")
    here.wait_members(here.topics.worker_group("chat"), 1)
    here.admin.delete_topics([reply_to])[reply_to].result()
    wait_for("it is gone", lambda: reply_to not in here.admin.list_topics(timeout=10).topics)
    for number in range(6):
        headers = {"parkway-reply-to": reply_to} if number == 2 else {}
        messages = [{"role": "user", "content": f"0 rounds for {number}"}]
        here.emit(event("_chat_request_event", f"r-{number}", model="assistant", messages=messages), headers=headers)
    here.flush()
    responses = {one.json["attributes"]["request_id"]: one.json for one in here.wait_read(here.topics.outputs, 6)}
    assert responses["r-2"]["attributes"]["success"] is False
    assert sum(one["attributes"]["success"] for one in responses.values()) == 5
    here.wait_all_done()


def test_what_an_action_raises_ends_its_record_only(install: Callable[..., Installation]) -> None:
    here = install("agents:Raises")
    here.router()
    worker = here.worker("w0", TEST_MODEL_SECONDS="0.01")
    for kind in ("cancelled", "exit", "base"):
        here.emit(event("raise", kind, kind=kind))
    chat = event(
        "_chat_request_event", "lets-cancel-out", model="cancels", messages=[{"role": "user", "content": "hi"}]
    )
    here.emit(chat)
    here.emit(event("order", number=7))
    here.flush()
    outputs = here.wait_read(here.topics.outputs, 2)
    by_type = {one.headers["parkway-type"]: one.json for one in outputs}
    assert by_type[b"_chat_response_event"]["attributes"]["error"]["type"] == "internal"
    dead = here.wait_read(here.topics.dlq, 3)
    assert {one.json["id"] for one in dead} == {"cancelled", "exit", "base"}
    here.wait_all_done()
    assert worker.poll() is None


def test_records_that_somebody_wrote_by_hand_do_not_stop_a_worker(install: Callable[..., Installation]) -> None:
    here = install("agents:Chats", partitions=1)
    parked = here.topics.parked
    here.emit(b"not json", topic=parked, key="broken/chat", partition=0)
    here.emit(b'{"v":1,"request":{}}', topic=parked, key="empty/chat", partition=0)
    here.emit(b"{}", topic=parked, key="no-slash", partition=0)
    for body in (b"nonsense", b"[]", b"{}", b'{"type":"_chat_request_event","attributes":{}}'):
        here.emit(body, topic=here.topics.action("chat"), partition=0)
    for body in (b"nonsense", b'{"id":"x","attributes":[]}', b'{"id":"x","attributes":{"request_id":{}}}'):
        here.emit(body, topic=here.topics.resume("chat"), partition=0)
    here.flush()
    here.router()
    worker = here.worker("w0")
    here.emit(event("question", number=1, rounds=1))
    here.flush()
    here.wait_read(here.topics.outputs, 1)
    here.wait_all_done()
    assert worker.poll() is None
    assert [key for key in here.parked() if key != b"no-slash"] == []
    reasons = Counter(one.headers["parkway-error-type"].decode() for one in here.read(here.topics.dlq))
    assert reasons["parked_unreadable"] >= 2


def test_sigterm_ends_a_process_whose_sync_handler_blocks(install: Callable[..., Installation], tmp_path: Path) -> None:
    here = install("agents:Orders", partitions=1)
    here.router()
    worker = here.worker("w0", "slow-sync", PARKWAY_DRAIN="1", TEST_NOTES=str(tmp_path))
    here.emit(event("slow-sync", number=1, wait=600))
    here.flush()
    wait_for("it runs", (tmp_path / "slow-sync.notes").exists)
    began = time.monotonic()
    worker.terminate()
    assert worker.wait(30) == 0
    assert time.monotonic() - began < 20


def test_aborted_records_do_not_keep_the_routers_lag_up(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders", partitions=1)
    here.abort_transaction(here.topics.events)
    here.router()
    here.wait_no_lag(here.topics.router_group, here.topics.events)


def test_a_committed_offset_beyond_the_log_loses_nothing(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders", partitions=1)
    here.set_offset(here.topics.worker_group("process"), here.topics.action("process"), 500)
    here.router()
    here.worker("w0", "process")
    for number in range(20):
        here.emit(event("order", number=number))
    here.flush()
    here.wait_read(here.topics.outputs, 20)
    assert numbers(here) == Counter(range(20))


def test_max_open_bounds_what_is_parked(install: Callable[..., Installation]) -> None:
    here = install("agents:Chats", partitions=1)
    here.router()
    here.worker("w0", "chat", PARKWAY_MAX_OPEN="3")
    for number in range(20):
        messages = [{"role": "user", "content": f"1 rounds for {number}"}]
        here.emit(event("_chat_request_event", f"r-{number}", model="assistant", messages=messages))
    here.flush()
    wait_for("three are parked", lambda: len(here.parked()) == 3)
    here.wait_read(here.topics.action("tool"), 3)
    assert len(here.parked()) == 3
    here.worker("w1", "tool")
    here.wait_read(here.topics.outputs, 20)
    here.wait_all_done()


def test_a_zombie_router_writes_nothing(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders", partitions=1)
    zombie = here.router("r0")
    here.wait_members(here.topics.router_group, 1)
    os.kill(zombie.pid, signal.SIGSTOP)
    for number in range(50):
        here.emit(event("order", number=number))
    here.flush()
    here.router("r1")
    here.wait_read(here.topics.action("process"), 50)
    os.kill(zombie.pid, signal.SIGCONT)
    for number in range(50, 60):
        here.emit(event("order", number=number))
    here.flush()
    here.wait_no_lag(here.topics.router_group, here.topics.requests)
    routed = Counter(one.json["attributes"]["number"] for one in here.read(here.topics.action("process")))
    assert routed == Counter(range(60))


def test_an_action_topic_that_is_made_again_under_a_worker_loses_nothing(install: Callable[..., Installation]) -> None:
    """The worker may exit with 1, for a supervisor to start another: the log is not the one it knew."""
    here = install("agents:Orders", partitions=1)
    topic = here.topics.action("process")
    here.router()
    running = here.worker("w0", "process")
    for number in range(30):
        here.emit(event("order", number=number))
    here.flush()
    here.wait_read(here.topics.outputs, 30)
    here.admin.delete_topics([topic])[topic].result()
    wait_for("it is gone", lambda: topic not in here.admin.list_topics(timeout=10).topics)
    here.apply(here.plan)
    for number in range(30, 40):
        here.emit(event("order", number=number))
    here.flush()

    def handled() -> bool:
        nonlocal running
        if running.poll() is not None:
            assert running.returncode == 1
            running = here.worker("w0", "process")
        return len(numbers(here)) >= 40

    wait_for("everything is handled", handled, 60)
    assert numbers(here) == Counter(range(40))
