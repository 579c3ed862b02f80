"""Sinks in Avro, opened by a schema registry that talks HTTP."""

import json
from collections.abc import Iterator

import pytest
from pydantic import BaseModel
from schema_registry_server import RegistryServer

from parkway.agents import Agent, AgentError, EventError, Sink, definition_of
from parkway.runtime.schema_registry import SchemaRegistry
from parkway.runtime.settings import Settings
from parkway.schemas.avro import AvroCodec
from parkway.schemas.avro.codec import RegistryUnavailableError
from parkway.workers.sinks import open_sinks

SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "id", "type": "string"}, {"name": "amount", "type": "double", "default": 0.0}],
    }
)


class Order(BaseModel):
    id: str
    amount: float


@pytest.fixture
def registry() -> Iterator[RegistryServer]:
    server = RegistryServer()
    server.start()
    yield server
    server.stop()


def opened(sink: Sink, registry: str | None):
    agent = type("Shop", (Agent,), {"orders": sink})
    return open_sinks(Settings(schema_registry=registry), definition_of(agent))[sink]


def test_payloads_in_avro(registry):
    write = opened(Sink("shop.orders", format="avro", schema=SCHEMA), registry.url)
    assert list(registry.subjects) == ["shop.orders-value"]
    value, headers = write(Order(id="o1", amount=3))
    assert headers == [("content-type", b"application/avro")]
    codec = AvroCodec(SchemaRegistry(registry.url))
    assert json.loads(codec.decode_foreign(value)) == {"id": "o1", "amount": 3.0}
    assert json.loads(codec.decode_foreign(write({"id": "o2"})[0])) == {"id": "o2", "amount": 0.0}
    for wrong in ({"amount": 3}, {"id": "o", "amount": "much"}, {"id": "o", "amont": 1.0}, 5):
        with pytest.raises(EventError, match="does not fit the Avro schema Order"):
            write(wrong)


def test_the_newest_schema_of_a_subject(registry):
    registry.subjects["orders"] = [registry.add('"string"'), registry.add(SCHEMA)]
    write = opened(Sink("shop.orders", format="avro", subject="orders"), registry.url)
    assert write({"id": "o1"})[0][:5] == b"\x00\x00\x00\x00\x02"


def test_sinks_in_avro_that_cannot_be_opened(registry):
    with pytest.raises(AgentError, match="set PARKWAY_SCHEMA_REGISTRY to its URL, or choose format='json'"):
        opened(Sink("shop.orders", format="avro", schema=SCHEMA), None)
    with pytest.raises(AgentError, match=r"has no subject 'shop.orders-value': register its schema"):
        opened(Sink("shop.orders", format="avro"), registry.url)
    registry.broken = True
    with pytest.raises(RegistryUnavailableError, match=r"cannot register shop.orders-value"):
        opened(Sink("shop.orders", format="avro", schema=SCHEMA), registry.url)
