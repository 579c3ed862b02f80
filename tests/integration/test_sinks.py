"""`ctx.output(value, to=sink)`: plain payloads, keyed, in the transaction of the other results."""

import json
from collections.abc import Callable

import pytest
from confluent_kafka import Producer
from installation import Installation, event, wait_for


@pytest.fixture
def sink(parkway_namespace: str, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"{parkway_namespace}-shop"
    monkeypatch.setenv("TEST_SINK", name)
    return name


def installed(install: Callable[..., Installation], sink: str, *, topics: bool = True) -> Installation:
    import sys

    sys.modules.pop("memory_agents", None)  # its sinks are named by the environment
    here = install("memory_agents:Shop")
    here.partitions = 3
    if topics:
        here.create_topic(sink, 3)
        here.create_topic(f"{sink}.news", 3)
    return here


def test_payloads_are_plain_keyed_and_transactional(install: Callable[..., Installation], sink: str) -> None:
    here = installed(install, sink)
    here.router()
    here.worker("w0")
    keys = [f"key-{number}" for number in range(30)]
    for number, key in enumerate(keys):
        here.emit(event("order", f"e{number}", number=number), key=key)
    here.emit(event("order", number=999, fails=1), key="fails")
    here.flush()
    here.wait_read(here.topics.outputs, 30)
    here.wait_read(here.topics.dlq, 1)
    here.wait_all_done()
    found = here.read(sink)
    assert {one.key.decode(): one.json for one in found if one.key} == {
        key: {"number": number, "at": "shop"} for number, key in enumerate(keys)
    }
    assert len(found) == 30
    assert {one.headers["content-type"] for one in found} == {b"application/json"}
    assert {one.headers["parkway-root-id"].decode() for one in found} == {f"e{number}" for number in range(30)}
    news = [one.json for one in here.read(f"{sink}.news")]
    assert len(news) == 30
    assert {one["type"] for one in news} == {"order.done"}
    assert {one["source"] for one in news} == {"/Shop"}
    assert len({one["id"] for one in news}) == 30
    # Where Java's producers put these keys: so do librdkafka's with its partitioner.
    java = Producer({"bootstrap.servers": here.settings.bootstrap_servers, "partitioner": "murmur2_random"})
    places: dict[str, int] = {}
    here.create_topic(f"{sink}-java", 3)
    for key in keys:
        java.produce(
            f"{sink}-java", b"", key, on_delivery=lambda _, m: places.update({m.key().decode(): m.partition()})
        )
    java.flush(30)
    assert {one.key.decode(): one.partition for one in found if one.key} == places


def test_a_sink_that_is_missing_is_said_before_anything_starts(install: Callable[..., Installation], sink: str) -> None:
    here = installed(install, sink, topics=False)
    applied = here.command("topics", "apply", "--plan", str(here.plan_file))
    assert f"sink topic {sink} is missing" in applied.out
    started = here.parkway("worker", "memory_agents:Shop", PYTHONPATH=_path())
    assert started.returncode == 2
    assert f"missing sink topic {sink}: it is yours" in started.stderr
    assert sink not in here.admin.list_topics(timeout=10).topics


def test_results_for_a_sink_that_went_away_are_dead_letters(install: Callable[..., Installation], sink: str) -> None:
    here = installed(install, sink)
    here.router()
    here.worker("w0")
    here.wait_members(here.topics.worker_group("process"), 1)
    here.admin.delete_topics([sink])[sink].result()
    wait_for("it is gone", lambda: sink not in here.admin.list_topics(timeout=10).topics)
    here.emit(event("order", number=2), key="b")
    here.flush()
    (dead,) = here.wait_read(here.topics.dlq, 1)
    assert json.loads(dead.value or b"")["attributes"] == {"number": 2}
    here.wait_all_done()
    assert here.read(here.topics.outputs) == []
    assert here.read(f"{sink}.news") == []


def _path() -> str:
    from installation import PYTHONPATH

    return PYTHONPATH
