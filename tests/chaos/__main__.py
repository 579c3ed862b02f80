"""Chats under random SIGKILL and SIGSTOP of routers, workers and brokers: exactly one right answer each.

    python -m tests.chaos [--requests 5000] [--seconds 300] [--brokers 1] [--seed N]
    python -m tests.chaos --brokers 3 --lose-broker [...]

Chat requests of one to three tool rounds come in evenly; processes are killed, and started again as an orchestrator
would, or halted and woken up, some for longer than the session timeout; brokers for longer than the transaction
timeout. With `--lose-broker` one of three brokers dies for ever, in the middle third: the two others go on. Then the
faults end, and what is left is worked off. Prints every fault. The same seed gives the same faults.
Exit 1 when a request has not exactly one answer, or a wrong one, or anything is left parked or dead-lettered.
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "integration"))  # its helpers and its agents

from installation import Installation, event
from tests.chaos.check import Request, Verdict, judge
from tests.chaos.faults import lose_broker, schedule, summary
from tests.chaos.fleet import Fleet, Start

from parkway.runtime.logs import configure_logs
from parkway.testing.kafka import PipKafka

ROUTERS, WORKERS, PARTITIONS = 2, 3, 6
_TAIL = 120.0  # seconds to work off what is left once the faults have ended
_ENVIRONMENT = {"PARKWAY_REQUEST_DEADLINE": "3600", "PARKWAY_LOG_LEVEL": "info"}


def make_requests(count: int, seed: int) -> list[Request]:
    dice = random.Random(seed)
    return [Request(f"chat-{number}", dice.randint(1, 3), number) for number in range(count)]


def send(one: Installation, request: Request) -> None:
    message = {"role": "user", "content": request.text, "tool_calls": [], "extra_args": {}}
    body = event("_chat_request_event", request.id, model="assistant", messages=[message])
    one.emit(body, partition=request.number % PARTITIONS)


def run(one: Installation, kafka: PipKafka, arguments: argparse.Namespace) -> Verdict:
    starts: dict[str, Start] = {}
    for number in range(ROUTERS):
        starts[f"router-{number}"] = lambda name=f"router-{number}": one.router(name, **_ENVIRONMENT)
    for number in range(WORKERS):
        starts[f"worker-{number}"] = lambda name=f"worker-{number}": one.worker(name, **_ENVIRONMENT)
    faults = schedule(arguments.seed, arguments.seconds, ROUTERS, WORKERS, arguments.brokers)
    if arguments.lose_broker:
        faults = lose_broker(faults, arguments.seed, arguments.seconds, arguments.brokers)
    requests = make_requests(arguments.requests, arguments.seed)
    print(f"seed {arguments.seed}: {len(requests)} chat requests, {arguments.brokers} broker(s), {summary(faults)}")
    fleet = Fleet(kafka, starts)
    began = time.monotonic()
    waiting, due, sent = list(faults), len(requests) / arguments.seconds, 0
    while (now := time.monotonic() - began) < arguments.seconds or waiting:
        while waiting and waiting[0].at <= now:
            fault = waiting.pop(0)
            print(f"[{now:6.1f} s] {fault} ({sent} sent)", flush=True)
            fleet.inject(fault, now)
        fleet.tend(now)
        while sent < len(requests) and sent < now * due:
            send(one, requests[sent])
            sent += 1
        one.poll_producer()
        time.sleep(0.02)
    fleet.heal()
    for request in requests[sent:]:
        send(one, request)
    one.flush(120.0)
    print(f"[{time.monotonic() - began:6.1f} s] the faults have ended", flush=True)
    _work_off(one, fleet, len(requests), began)
    for end, times in sorted(fleet.ends.items()):
        print(f"ended by itself, and was started again: {end}, {times} x")
    return judge(requests, one.read(one.topics.outputs), len(one.parked()), one.read(one.topics.dlq))


def _work_off(one: Installation, fleet: Fleet, count: int, began: float) -> None:
    end = time.monotonic() + _TAIL
    while time.monotonic() < end:
        fleet.tend(time.monotonic() - began)
        answered = len(one.read(one.topics.outputs))
        print(f"[{time.monotonic() - began:6.1f} s] {answered} of {count} answered", flush=True)
        if answered >= count:
            one.wait_all_done(_TAIL)
            return
        time.sleep(2.0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=5_000)
    parser.add_argument("--seconds", type=float, default=300.0, help="how long faults are injected")
    parser.add_argument("--brokers", type=int, choices=(1, 3), default=1)
    parser.add_argument("--lose-broker", action="store_true", help="one of three brokers dies and never comes back")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--logs", type=Path, help="keep the processes' logs in this folder")
    arguments = parser.parse_args()
    if arguments.lose_broker and arguments.brokers != 3:
        parser.error("--lose-broker needs --brokers 3: one broker that dies takes everything with it")
    configure_logs(level="error")
    folder = arguments.logs or Path(tempfile.mkdtemp(prefix="parkway-chaos-"))
    folder.mkdir(parents=True, exist_ok=True)
    with PipKafka(brokers=arguments.brokers) as kafka:
        one = Installation(kafka.bootstrap_servers, "chaos", "agents:Chats", folder, PARTITIONS)
        try:
            verdict = run(one, kafka, arguments)
        finally:
            one.stop()
    for line in verdict.wrong[:50]:
        print(line)
    print(
        f"{verdict.answered} of {arguments.requests} answered exactly once, "
        f"{verdict.failed.total()} failed {dict(verdict.failed)}, {len(verdict.wrong)} faults found; logs in {folder}"
    )
    return 1 if verdict.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
