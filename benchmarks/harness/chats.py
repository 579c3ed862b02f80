"""Chats over the whole pipeline, with a model that answers at once: their CPU, and how long one takes."""

import time
import uuid
from contextlib import ExitStack
from pathlib import Path
from statistics import quantiles
from typing import Self

import orjson
from confluent_kafka import Consumer, Producer, TopicPartition
from harness.processes import Measured
from harness.report import Bars
from harness.working_run import AGENT, parkway, settings_of

from parkway.runtime.clients import manual_consumer
from parkway.runtime.settings import Settings
from parkway.schemas.plan import Plan

_WARM_UP = 20
_LONGEST = 60.0


class Pipeline:
    """A router and a worker of the chat action, a producer of requests and a reader of the responses."""

    def __init__(self, bootstrap: str, folder: Path, plan: Plan) -> None:
        self._settings = settings_of(bootstrap, "chats", plan)
        self._file = folder / "chats.json"
        self._file.write_bytes(plan.to_json())
        self._stack = ExitStack()
        self.processes: list[Measured] = []

    def __enter__(self) -> Self:
        commands = (("router", "--plan", self._file), ("worker", AGENT, "--action", "chat"))
        self.processes = [self._stack.enter_context(parkway(self._settings, *command)) for command in commands]
        self._producer = Producer({"bootstrap.servers": self._settings.bootstrap_servers, "linger.ms": 0})
        self._outputs = _reader(self._settings)
        self._stack.callback(self._outputs.close)
        for _ in range(_WARM_UP):
            self.one()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def one(self) -> float:
        """Milliseconds from `produce` to the response in `outputs`, read_committed."""
        began = time.perf_counter()
        self._send()
        self._producer.flush()
        self._receive(1)
        return (time.perf_counter() - began) * 1000

    def many(self, chats: int) -> tuple[float, float]:
        """All at once: requests a second, and microseconds of CPU a request, of all processes."""
        used = sum(process.cpu_now() for process in self.processes)
        began = time.perf_counter()
        for _ in range(chats):
            self._send()
        self._producer.flush()
        self._receive(chats)
        seconds = time.perf_counter() - began
        return chats / seconds, (sum(process.cpu_now() for process in self.processes) - used) / chats * 1e6

    def _send(self) -> None:
        attributes = {"model": "assistant", "messages": [{"role": "user", "content": "hi"}]}
        body = {"id": str(uuid.uuid4()), "type": "_chat_request_event", "attributes": attributes}
        self._producer.produce(self._settings.topics.requests, orjson.dumps(body), body["id"], 0)

    def _receive(self, responses: int) -> None:
        give_up = time.monotonic() + _LONGEST
        while responses:
            assert time.monotonic() < give_up, f"{responses} responses are missing"
            for message in self._outputs.consume(1 if responses == 1 else 500, 0.2):
                assert message.error() is None, message.error()
                response = orjson.loads(message.value() or b"")
                assert response["attributes"]["success"], response
                responses -= 1


def _reader(settings: Settings) -> Consumer:
    consumer = manual_consumer(settings, "bench")
    consumer.assign([TopicPartition(settings.topics.outputs, 0, 0)])
    return consumer


def show(bootstrap: str, folder: Path, plan: Plan, chats: int, bars: Bars) -> None:
    with Pipeline(bootstrap, folder, plan) as pipeline:
        took = sorted(pipeline.one() for _ in range(max(50, chats // 10)))
        found = [pipeline.many(chats) for _ in range(3)]
    cuts = quantiles(took, n=100)
    print(f"\nchat, one at a time ({len(took)}): p50 {cuts[49]:.1f} ms, p95 {cuts[94]:.1f}, p99 {cuts[98]:.1f}")
    print(f"chat, {chats:,} at once: {', '.join(f'{rate:,.0f}/s at {used:,.0f} us of CPU' for rate, used in found)}")
    bars.at_most("chat p50", [cuts[49]], 15, " ms")
    bars.at_most("chat p99", [cuts[98]], 80, " ms")
    bars.at_most("CPU of a chat, all processes", [used / 1000 for _, used in found], 1, " ms")
