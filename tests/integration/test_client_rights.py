"""A client without the right to read dead letters goes on without them."""

import asyncio
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Message, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)
from installation import Installation, installation, wait_for

from parkway.client import Client, ClientError, NotDeliveredError, RequestTimeoutError
from parkway.runtime.clients import manual_consumer, plain_producer
from parkway.schemas.events import ChatMessage, ChatRequestEvent, Event
from parkway.testing.kafka import PipKafka

OPEN = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}


def rule(topic: str, operation: AclOperation, permission: AclPermissionType) -> AclBinding:
    pattern = ResourcePatternType.LITERAL
    return AclBinding(ResourceType.TOPIC, topic, pattern, "User:ANONYMOUS", "*", operation, permission)


def is_refused(here: Installation, topic: str, operation: AclOperation) -> bool:
    """Brokers learn of a rule a little later."""
    refused: list[bool] = []
    if operation is AclOperation.WRITE:
        producer = plain_producer(here.settings, "probe")
        producer.produce(topic, b"{}", on_delivery=lambda error, _: refused.append(error is not None))
        producer.flush(10)
        return refused == [True]
    consumer = manual_consumer(here.settings, "probe", **{"enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, 0, 0)])
    message = consumer.poll(10)
    consumer.close()
    return message is not None and _code(message) == KafkaError.TOPIC_AUTHORIZATION_FAILED


def _code(message: Message) -> int | None:
    error = message.error()
    return error.code() if error is not None else None


@pytest.mark.timeout(180)
async def test_rights_that_are_missing(tmp_path: Path) -> None:
    with (
        PipKafka(data_dir=tmp_path / "kafka", overrides=OPEN) as kafka,
        installation(kafka.bootstrap_servers, "rights", "agents:Replies", tmp_path) as here,
    ):
        here.router()
        here.worker("w0")

        async def without(topic: str, operation: AclOperation) -> None:
            """Everything but this: a rule for a topic is an end to what everybody may."""
            rules = [
                rule(topic, AclOperation.ALL, AclPermissionType.ALLOW),
                rule(topic, operation, AclPermissionType.DENY),
            ]
            for future in here.admin.create_acls(rules).values():
                await asyncio.to_thread(future.result)
            await asyncio.to_thread(wait_for, f"{topic} is refused", lambda: is_refused(here, topic, operation), 30)

        request = ChatRequestEvent(model="assistant", messages=[ChatMessage.user("0 rounds for 1")])
        await without(here.topics.dlq, AclOperation.READ)
        async with Client(kafka.bootstrap_servers, "rights") as client:
            with pytest.raises(RequestTimeoutError):  # nobody tells it of the dead letter
                await client.ask(Event("forbidden", {}), timeout=3)
            assert (await client.request(request)).success
            await without(here.topics.outputs, AclOperation.READ)
        async with Client(kafka.bootstrap_servers, "rights") as client:
            with pytest.raises(ClientError, match=r"rights\.outputs cannot be read"):
                await client.request(ChatRequestEvent(model="a", messages=[ChatMessage.user("x")]), timeout=60)
            await without(here.topics.requests, AclOperation.WRITE)
            with pytest.raises(NotDeliveredError, match=r"no right to write to rights\.requests"):
                await client.send(Event("order", {"number": 1}))
