"""The client beside a produce/consume pair written by hand, in one run over one router and one worker.

    python benchmarks/client.py             # latency one at a time, rate and CPU with many in flight
    python benchmarks/client.py --check     # exit 1 when a bar is missed
    python benchmarks/client.py --quick     # half a minute

The pair is what a team writes for one service: a producer, and a thread that reads all of `outputs` and finds the
future of each `request_id`. It survives no restart of a broker's topic, knows no DLQ, no timeout and no cancellation,
and takes any response under its id. Model answers come at once. They take turns, round after round.
"""

import argparse
import asyncio
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median, quantiles

import orjson
from confluent_kafka import Producer, TopicPartition
from harness.report import Bars
from harness.working_run import AGENT, HERE, parkway, settings_of

from parkway.agents.build import build_plan
from parkway.agents.load import load_agent
from parkway.client import Client
from parkway.runtime.clients import manual_consumer
from parkway.runtime.logs import configure_logs
from parkway.runtime.settings import Settings
from parkway.schemas.events import ChatMessage, ChatRequestEvent
from parkway.testing.kafka import PipKafka

Ask = Callable[[], Awaitable[None]]


class Pair:
    """Written by hand."""

    def __init__(self, settings: Settings) -> None:
        self._topics = settings.topics
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._producer = Producer({"bootstrap.servers": settings.bootstrap_servers, "linger.ms": 0})
        self._consumer = manual_consumer(settings, "pair")
        self._consumer.assign([TopicPartition(self._topics.outputs, 0, 0)])
        self._stopped = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    async def ask(self) -> None:
        request_id = str(uuid.uuid4())
        attributes = {"model": "assistant", "messages": [{"role": "user", "content": "hi"}]}
        body = orjson.dumps({"id": request_id, "type": "_chat_request_event", "attributes": attributes})
        future = self._waiting[request_id] = self._loop.create_future()
        self._producer.produce(self._topics.requests, body, partition=0)
        self._producer.poll(0)
        await future

    def stop(self) -> None:
        self._stopped = True
        self._thread.join()
        self._producer.flush()

    def _read(self) -> None:
        while not self._stopped:
            message = self._consumer.poll(0.05)
            while message is not None:
                request_id = orjson.loads(message.value() or b"{}")["attributes"]["request_id"]
                future = self._waiting.pop(request_id, None)
                if future is not None:
                    self._loop.call_soon_threadsafe(future.set_result, None)
                message = self._consumer.poll(0)
        self._consumer.close()


async def one_at_a_time(ask: Ask, count: int) -> list[float]:
    """Milliseconds each."""
    took = []
    for _ in range(count):
        began = time.perf_counter()
        await ask()
        took.append((time.perf_counter() - began) * 1000)
    return took


async def at_once(ask: Ask, count: int) -> tuple[float, float]:
    """Requests a second, and microseconds of this process's CPU a request."""
    began, used = time.perf_counter(), time.process_time()
    await asyncio.gather(*(ask() for _ in range(count)))
    return count / (time.perf_counter() - began), (time.process_time() - used) / count * 1e6


async def compare(settings: Settings, rounds: int, single: int, many: int, bars: Bars) -> None:
    pair = Pair(settings)
    async with Client(settings.bootstrap_servers, settings.namespace) as client:

        async def request() -> None:
            answer = await client.request(
                ChatRequestEvent(model="assistant", messages=[ChatMessage.user("hi")]), timeout=120
            )
            assert answer.success

        sides: dict[str, Ask] = {"client": request, "pair": pair.ask}
        took: dict[str, list[list[float]]] = {"client": [], "pair": []}
        rates: dict[str, list[tuple[float, float]]] = {"client": [], "pair": []}
        for ask in sides.values():
            await one_at_a_time(ask, 30)
        for _ in range(rounds):
            for name, ask in sides.items():
                took[name].append(await one_at_a_time(ask, single))
            for name, ask in sides.items():
                rates[name].append(await at_once(ask, many))
    pair.stop()
    for name in sides:
        cuts = quantiles([one for each in took[name] for one in each], n=100)
        print(f"{name}: one at a time p50 {cuts[49]:.1f} ms, p95 {cuts[94]:.1f}, p99 {cuts[98]:.1f}")
        found = ", ".join(f"{rate:,.0f}/s at {cpu:.0f} us" for rate, cpu in rates[name])
        print(f"{name}: {many:,} in flight: {found} of CPU in the producer's process")
    medians = {name: [median(each) for each in rows] for name, rows in took.items()}
    bars.at_most(
        "p50 of the client / the pair", [c / p for c, p in zip(medians["client"], medians["pair"], strict=True)], 1.25
    )
    bars.at_least(
        "rate of the client / the pair",
        [c[0] / p[0] for c, p in zip(rates["client"], rates["pair"], strict=True)],
        0.8,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--single", type=int, default=200)
    parser.add_argument("--many", type=int, default=2_000)
    parser.add_argument("--check", action="store_true", help="exit 1 when a bar is missed")
    parser.add_argument("--quick", action="store_true", help="a smoke run")
    arguments = parser.parse_args()
    rounds, single = (2, 50) if arguments.quick else (arguments.rounds, arguments.single)
    configure_logs(level="error")
    sys.path.insert(0, str(HERE))
    plan = build_plan(load_agent(AGENT), AGENT)
    bars = Bars()
    with PipKafka() as kafka, tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        settings = settings_of(kafka.bootstrap_servers, "client", plan)
        file = Path(name) / "plan.json"
        file.write_bytes(plan.to_json())
        stack.enter_context(parkway(settings, "router", "--plan", file))
        stack.enter_context(parkway(settings, "worker", AGENT, "--action", "chat"))
        asyncio.run(compare(settings, rounds, single, arguments.many, bars))
    return 1 if arguments.check and bars.missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
