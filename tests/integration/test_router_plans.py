"""A router takes another plan between two batches: whole, on every partition, with its topics."""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import NewTopic
from installation import Installation, event, wait_for

from parkway.router.routing import Routing
from parkway.router.service import Router
from parkway.runtime.group_offsets import GroupOffsets
from parkway.runtime.plan_mark import read_mark
from parkway.schemas.plan import ActionPlan, Plan, SourcePlan


def plan(*names: str) -> Plan:
    actions = tuple(ActionPlan(name=name, triggers=("number",)) for name in names)
    return Plan(agent="tests", actions=actions, accepts=("number",)).with_build()


OLD, NEW = plan("old-a", "old-b"), plan("new-a", "new-b")


class Running:
    """A router on a thread, and what hands it another plan."""

    def __init__(self, here: Installation) -> None:
        self.here = here
        self.update: Routing | None = None
        self.router = Router(here.settings, Routing(OLD, here.topics), "r0", self._updates)
        self.thread = threading.Thread(target=self.router.run, name="router")
        self.thread.start()

    def _updates(self) -> Routing | None:
        update, self.update = self.update, None
        return update

    def stop(self) -> None:
        self.router.stop()
        self.thread.join(30)
        assert not self.thread.is_alive()

    def plans(self, topics: dict[str, int]) -> set[str | None]:
        """The plans that the partitions of these topics (with their counts) show; None: one shows none."""
        offsets = GroupOffsets(self.here.settings, "tests-plans", self.here.topics.router_group)
        wanted = [TopicPartition(topic, one) for topic, count in topics.items() for one in range(count)]
        found = wait_for("an answer", lambda: offsets.committed(wanted, 5.0))
        offsets.close()
        marks = [read_mark(one.metadata) for one in found]
        return {mark.plan if mark is not None else None for mark in marks}


@pytest.fixture
def here(install: Callable[..., Installation]) -> Installation:
    one = install("agents:Orders")
    one.apply(OLD)
    one.apply(NEW)
    return one


@pytest.fixture
def running(here: Installation) -> Iterator[Running]:
    one = Running(here)
    yield one
    one.stop()


def numbers(here: Installation, action: str) -> dict[int, list[int]]:
    """By partition, in the order of the topic."""
    found: dict[int, list[int]] = defaultdict(list)
    for record in here.read(here.topics.action(action)):
        found[record.partition].append(record.json["attributes"]["number"])
    return found


def test_an_event_is_matched_against_one_plan(here: Installation, running: Running) -> None:
    def emit(start: int) -> None:
        for number in range(start, start + 500):
            here.emit(event("number", number=number), partition=number % 3)
        here.flush()

    emit(0)
    wait_for("some are routed", lambda: numbers(here, "old-a"))
    emit(500)
    running.update = Routing(NEW, here.topics)
    emit(1000)
    here.wait_no_lag(here.topics.router_group, here.topics.requests)
    assert numbers(here, "old-a") == numbers(here, "old-b")
    assert numbers(here, "new-a") == numbers(here, "new-b")
    for partition in range(3):
        routed = numbers(here, "old-a")[partition] + numbers(here, "new-a")[partition]
        assert routed == list(range(partition, 1500, 3))
    assert numbers(here, "new-a")


def test_every_partition_shows_the_plan_in_force_even_without_any_record(here: Installation, running: Running) -> None:
    topics = {here.topics.requests: 3, here.topics.events: 3}
    wait_for("the old plan everywhere", lambda: running.plans(topics) == {OLD.build})
    running.update = Routing(NEW, here.topics)
    wait_for("the new plan everywhere", lambda: running.plans(topics) == {NEW.build})
    running.stop()
    another = Running(here)  # it begins with the old plan
    try:
        wait_for("the old plan again", lambda: running.plans(topics) == {OLD.build})
    finally:
        another.stop()


def test_a_plan_with_other_input_topics_is_subscribed_to(here: Installation, running: Running) -> None:
    foreign = f"foreign-{here.settings.namespace}"
    here.admin.create_topics([NewTopic(foreign, num_partitions=5, replication_factor=1)])[foreign].result()
    for number in range(50):
        here.emit(
            event("number", number=number), topic=foreign, partition=number % 5, headers={"parkway-type": "number"}
        )
    here.flush()
    new = NEW.model_copy(update={"sources": (SourcePlan(topic=foreign, format="envelope"),)}).with_build()
    running.update = Routing(new, here.topics, partitions=3)
    here.wait_read(here.topics.action("new-a"), 50)
    found = numbers(here, "new-a")
    # Source partition s goes to s mod 3, in order.
    for source in range(5):
        routed = [one for one in found[source % 3] if one % 5 == source]
        assert routed == list(range(source, 50, 5))
    topics = {here.topics.requests: 3, here.topics.events: 3, foreign: 5}
    wait_for("the new plan everywhere", lambda: running.plans(topics) == {new.build})
    running.update = Routing(OLD, here.topics)
    del topics[foreign]
    wait_for("the old plan everywhere", lambda: running.plans(topics) == {OLD.build})
