"""`ctx.state`: what an action remembers of a key is exactly what its committed results say."""

import random
from collections import defaultdict
from collections.abc import Callable

import pytest
from installation import Installation, event, wait_for

from parkway.schemas.state import StateRecord


def seen(here: Installation) -> dict[bytes, list[int]]:
    found: dict[bytes, list[int]] = defaultdict(list)
    for one in here.read(here.topics.outputs):
        assert one.key is not None
        found[one.key].append(one.json["attributes"]["output"]["seen"])
    return found


def states(here: Installation) -> dict[bytes, dict[str, int]]:
    live: dict[bytes, dict[str, int]] = {}
    for record in here.read(here.topics.state):
        assert record.key is not None
        live.pop(record.key, None)
        if record.value is not None:
            live[record.key] = StateRecord.from_json(record.value).state
    return live


@pytest.mark.timeout(240)
def test_state_is_exactly_once_while_workers_are_killed(install: Callable[..., Installation]) -> None:
    keys, each = 10, 15
    here = install("memory_agents:Counters", partitions=4)
    here.router()
    running = {name: here.worker(name) for name in ("w0", "w1")}
    here.wait_members(here.topics.worker_group("count"), 2)
    for number in range(each):
        for key in range(keys):
            here.emit(event("count", number=number, wait=0.02, fails=int(number % 10 == 3)), key=f"k{key}")
    here.flush()
    dice = random.Random(8)
    for done in (20, 80):
        wait_for(f"{done} outputs", lambda done=done: sum(map(len, seen(here).values())) >= done, 60)
        victim = dice.choice(sorted(running))
        running[victim].kill()
        running[victim].wait()
        running[victim] = here.worker(victim)
    here.wait_read(here.topics.outputs, keys * each, seconds=90)
    here.wait_all_done()
    wanted = {f"k{key}".encode(): list(range(1, each + 1)) for key in range(keys)}
    assert seen(here) == wanted
    total = sum(range(each))
    assert states(here) == {b"count/" + key: {"seen": each, "total": total} for key in wanted}
    assert here.read(here.topics.dlq) == []


def test_state_over_a_rebalance(install: Callable[..., Installation]) -> None:
    """What is running is adopted with its state; what moves finds it at the other worker."""
    here = install("memory_agents:Counters", partitions=2)
    group = here.topics.worker_group("count")
    here.worker("w0", "count")
    here.wait_members(group, 1)
    topic = here.topics.action("count")
    for number in range(60):
        here.emit(event("count", number=number, wait=0.2), topic=topic, partition=number % 2, key=f"k{number % 2}")
    here.flush()
    wait_for("some outputs", lambda: sum(map(len, seen(here).values())) > 6)
    other = here.worker("w1", "count")
    here.wait_members(group, 2)
    wait_for("some outputs more", lambda: sum(map(len, seen(here).values())) > 20)
    other.terminate()
    here.wait_read(here.topics.outputs, 60)
    here.wait_all_done_for("count")
    assert seen(here) == {key: list(range(1, 31)) for key in (b"k0", b"k1")}


def test_failures_and_the_end_of_state(install: Callable[..., Installation]) -> None:
    here = install("memory_agents:Counters", partitions=1)
    here.router()
    here.worker("w0")
    here.emit(event("count", number=1), key="a")
    here.emit(event("count", number=10, fails=1), key="a")  # one attempt fails: counted once
    here.emit(event("count", number=100, fails=2), key="a")  # both fail: not at all
    here.emit(event("count", number=1000), key="a")
    here.emit(event("count", number=5), key="b")
    here.emit(event("count", number=-1), key="b")  # clears
    here.emit(event("count", number=7))  # no key: no state
    here.flush()
    here.wait_read(here.topics.outputs, 5)
    dead = here.wait_read(here.topics.dlq, 2)
    here.wait_all_done()
    assert states(here) == {b"count/a": {"seen": 3, "total": 1011}}
    messages = [one.headers["parkway-error-message"] for one in dead]
    assert any(b"ContextError" in message for message in messages)
    here.worker("w1")
    here.emit(event("count", number=3), key="b")
    here.flush()
    here.wait_read(here.topics.outputs, 6)
    assert seen(here)[b"b"] == [1, 2, 1]
