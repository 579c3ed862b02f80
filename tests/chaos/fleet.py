"""The processes of an installation under chaos, and an orchestrator that starts again what ends."""

import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from tests.chaos.faults import FOR_EVER, Fault, Kind

from parkway.testing.kafka import PipKafka

Start = Callable[[], "subprocess.Popen[bytes]"]


@dataclass(slots=True)
class Member:
    start: Start
    process: "subprocess.Popen[bytes]"
    back_at: float | None = None  # killed: started again then
    resumes_at: float | None = None


class Fleet:
    """Not thread safe: one loop calls `inject` and `tend` with the same clock."""

    def __init__(self, kafka: PipKafka, starts: dict[str, Start]) -> None:
        self._kafka = kafka
        self._members = {name: Member(start, start()) for name, start in starts.items()}
        self._brokers: dict[int, tuple[Kind, float]] = {}
        # A broker takes seconds to come up, on a busy machine half a minute; the others are struck meanwhile.
        self._starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="broker")
        self._coming_up: Future[None] | None = None
        self.ends: Counter[str] = Counter()  # what ended by itself, with its exit code

    def inject(self, fault: Fault, now: float) -> None:
        role, _, number = fault.target.partition("-")
        if role == "broker":
            self._wait_for_brokers()  # one is away at a time
            (self._kafka.kill if fault.kind is Kind.KILL else self._kafka.pause)(int(number))
            if fault.lasts != FOR_EVER:
                self._brokers[int(number)] = (fault.kind, now + fault.lasts)
            return
        member = self._members[fault.target]
        if member.process.poll() is not None:
            return  # it is down already
        if fault.kind is Kind.KILL:
            member.process.kill()
            member.process.wait()
            member.back_at, member.resumes_at = now + fault.lasts, None
        else:
            member.process.send_signal(signal.SIGSTOP)
            member.resumes_at = now + fault.lasts

    def tend(self, now: float) -> None:
        """End faults that are over; start again what ended by itself, as an orchestrator would."""
        for number, (kind, until) in list(self._brokers.items()):
            if now >= until:
                del self._brokers[number]
                if kind is Kind.KILL:
                    self._coming_up = self._starter.submit(self._kafka.restart, number)
                else:
                    self._kafka.resume(number)
        for name, member in self._members.items():
            if member.resumes_at is not None and now >= member.resumes_at:
                member.resumes_at = None
                member.process.send_signal(signal.SIGCONT)
            if member.process.poll() is None:
                continue
            if member.back_at is None:
                self.ends[f"{name} exit {member.process.returncode}"] += 1
                member.back_at = now + 1.0
            elif now >= member.back_at:
                member.back_at = None
                member.process = member.start()

    def heal(self) -> None:
        """The end of all faults: everything runs."""
        self.tend(float("inf"))
        self.tend(float("inf"))
        self._wait_for_brokers()

    def _wait_for_brokers(self) -> None:
        """Raises BrokerError when one does not come up."""
        if self._coming_up is not None:
            self._coming_up.result()
            self._coming_up = None
