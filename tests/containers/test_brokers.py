"""Parkway on three brokers in containers, by testcontainers: what a test of a user's own cluster would do."""

from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from installation import wait_for

from parkway.agents import ChatMessage, ChatRequestEvent, ChatResponseEvent
from parkway.testing.kafka.docker import docker_kafka
from parkway.testing.stack import open_stack

pytestmark = pytest.mark.timeout(600)


def test_a_worker_is_killed_and_each_chat_ends_once(tmp_path: Path, parkway_namespace: str) -> None:
    with (
        docker_kafka(brokers=3, overrides={}) as servers,
        open_stack(
            "agents:Replies", bootstrap_servers=servers, namespace=parkway_namespace, folder=tmp_path, workers=2
        ) as chats,
    ):
        parked = chats.settings.topics.parked
        wait_for("every record is on all three", lambda: _replicas(servers, parked) == {3})
        asked = [chats.send(_question(number), key=f"k{number}") for number in range(20)]
        assert chats.response_to(asked[0], seconds=120)
        asked += [chats.send(_question(number), key=f"k{number}") for number in range(20, 40)]
        chats.kill_worker(1)
        answers = [chats.response_to(request, seconds=120) for request in asked]
        assert all(isinstance(answer, ChatResponseEvent) and answer.success for answer in answers)
        ends = Counter(one.event.attributes["request_id"] for one in chats.outputs())
        assert ends == Counter(asked)
        assert chats.dead() == []


def _replicas(servers: str, topic: str) -> set[int]:
    """How many each partition has; empty while the broker that is asked has not heard of the topic."""
    found = AdminClient({"bootstrap.servers": servers, "log_level": 0}).list_topics(topic, timeout=30).topics[topic]
    return {len(partition.replicas) for partition in found.partitions.values()}


def _question(number: int) -> ChatRequestEvent:
    return ChatRequestEvent(model="assistant", messages=[ChatMessage.user(f"2 rounds for {number}")])
