"""More partitions while a system runs; what differs between topics and plan."""

import json
import threading
from collections import Counter
from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, ResourceType
from installation import Installation, event, wait_for

GROWN = 5


class Traffic:
    """Questions of twenty keys into all partitions there are, the new ones too once it is told of them."""

    def __init__(self, here: Installation) -> None:
        self.sent = 0
        self._here = here
        self._stop = threading.Event()
        self._partitions = here.partitions
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def into(self, partitions: int) -> None:
        self._partitions = partitions

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(0.05):
            asked = event("question", f"q-{self.sent}", rounds=1, number=self.sent)
            try:
                self._here.emit(asked, key=f"k-{self.sent % 20}", partition=self.sent % self._partitions)
            except KafkaException as failure:
                if failure.args[0].code() != KafkaError._UNKNOWN_PARTITION:
                    raise
                _known(self._here)  # this producer has not seen the new partitions yet
            else:
                self.sent += 1
            self._here.poll_producer()


@pytest.mark.timeout(400)  # on a busy machine; what it waits for are conditions
def test_topics_grow_under_traffic_and_nothing_is_lost_or_doubled(install: Callable[..., Installation]) -> None:
    here = install("agents:Chats")
    here.router()
    here.worker("w0")
    here.worker("w1")
    traffic = Traffic(here)
    try:
        here.wait_read(here.topics.outputs, 20)
        no = here.command("topics", "grow", str(GROWN), answer="n\n")
        assert no.code == 1
        assert f"{here.topics.requests}  3 -> 5" in no.out
        assert "only after a drain" in no.out
        said = here.command("topics", "grow", str(GROWN), "--yes")
        assert said.code == 0, said
        _downstream_first(here, [line.split()[1] for line in said.out.splitlines() if line.startswith("grown")])
        here.partitions = GROWN
        wait_for("new partitions are known to the producer", lambda: _known(here))
        traffic.into(GROWN)
        wait_for(
            "outputs in new partitions",
            lambda: {3, 4} <= {one.partition for one in here.read(here.topics.outputs)},
            180,
        )
    finally:
        traffic.stop()
    here.flush()
    found: Counter[int] = Counter()

    def all_there() -> bool:
        found.clear()
        found.update(one.json["attributes"]["output"]["number"] for one in here.read(here.topics.outputs))
        return len(found) == traffic.sent

    wait_for("every question is answered", all_there, 120)
    here.wait_all_done(120)
    assert all_there()
    assert set(found.values()) == {1}
    assert here.read(here.topics.dlq) == []
    _all_have_grown(here)


def _downstream_first(here: Installation, order: list[str]) -> None:
    assert order[-1] == here.topics.requests
    assert order.index(here.topics.parked) < order.index(here.topics.resume("chat"))
    assert order.index(here.topics.resume("chat")) < order.index(here.topics.action("chat"))
    assert order.index(here.topics.action("ask")) < order.index(here.topics.events)


def _all_have_grown(here: Installation) -> None:
    assert here.command("topics", "diff", "--plan", str(here.plan_file)).out.splitlines() == []
    assert "already" in here.command("topics", "grow", str(GROWN), "--yes").out
    smaller = here.command("topics", "grow", "2", "--yes")
    assert (smaller.code, "never taken away" in smaller.err) == (2, True)


def test_state_does_not_move_with_its_keys(install: Callable[..., Installation]) -> None:
    here = install("memory_agents:Counters")
    here.emit(b"{}", topic=here.topics.state, key="count/k")
    here.flush()
    said = here.command("topics", "grow", "5", "--yes")
    assert (said.code, "--forget-state" in said.err) == (2, True)
    assert here.command("topics", "grow", "5", "--yes", "--forget-state", "--json").code == 0


def _known(here: Installation) -> bool:
    assert here._producer is not None
    return len(here._producer.list_topics(here.topics.requests, 10).topics[here.topics.requests].partitions) == GROWN


def test_apply_asks_nothing_because_it_alters_nothing(install: Callable[..., Installation]) -> None:
    here = install("agents:Chats", partitions=2)
    topic, gone = here.topics.dlq, here.topics.outputs
    resource = ConfigResource(ResourceType.TOPIC, topic)
    smaller = ConfigEntry("max.message.bytes", "1000", incremental_operation=AlterConfigOpType.SET)
    resource.add_incremental_config(smaller)
    here.admin.incremental_alter_configs([resource])[resource].result()
    here.admin.create_partitions([NewPartitions(here.topics.events, 3)])[here.topics.events].result()
    here.admin.delete_topics([gone])[gone].result()
    wait_for("it is gone", lambda: gone not in here.admin.list_topics(timeout=10).topics)
    # No terminal, and no --yes: a Job that creates the topics of a release must not stand still.
    said = here.command("topics", "apply", "--plan", str(here.plan_file), "--json")
    assert said.code == 0, said
    done = json.loads(said.out)
    assert done["created"] == [gone]
    assert f"{topic}: max.message.bytes is 1000, not 4300000" in done["differences"]
    assert f"{here.topics.events} has 3 partitions" in done["differences"]
    left = here.admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)])
    (settings,) = (one.result() for one in left.values())
    assert settings["max.message.bytes"].value == "1000"
    assert len(here.admin.list_topics(here.topics.events, 10).topics[here.topics.events].partitions) == 3


def test_what_differs_is_said(install: Callable[..., Installation]) -> None:
    here = install("agents:Chats")
    plan = str(here.plan_file)
    assert here.command("topics", "diff", "--plan", plan).code == 0
    here.create_topic(here.topics.action("old"), 2)
    here.admin.delete_topics([here.topics.outputs])[here.topics.outputs].result()
    wait_for("it is gone", lambda: here.topics.outputs not in here.admin.list_topics(timeout=10).topics)
    said = here.command("topics", "diff", "--plan", plan, "--json")
    assert said.code == 1
    found = {(one["topic"], one["what"]) for one in json.loads(said.out)}
    assert found == {(here.topics.outputs, "missing"), (here.topics.action("old"), "left_over")}
    assert f"{here.topics.outputs} is missing" in here.command("topics", "diff", "--plan", plan).out
    assert "--plan FILE" in here.command("topics", "diff").err
