"""A real Apache Kafka for development and tests."""

from parkway.testing.kafka.broker import Broker, open_broker, prepare
from parkway.testing.kafka.errors import BrokerError
from parkway.testing.kafka.pip_kafka import PipKafka
from parkway.testing.kafka.security import Security

__all__ = ["Broker", "BrokerError", "PipKafka", "Security", "open_broker", "prepare"]
