"""Routers under random kills, stops and pauses, with a seed; what they routed is compared with a plain evaluation."""

import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from installation import Installation
from routed import Routed

from parkway.testing.kafka import PipKafka


@dataclass
class Slot:
    """The place of one router: whoever runs there has the slot's instance name."""

    name: str
    process: subprocess.Popen[bytes]
    assignments: int = 0  # that its log had when the process was started
    start_at: float | None = None  # when the next one begins, if nobody runs
    wake_at: float | None = None  # when a stopped one is woken
    leaves: bool = False  # it was told to; a second SIGTERM would end it at once


class Chaos:
    """Plays with `routers` routers of an installation while `events` events are emitted."""

    def __init__(
        self,
        here: Installation,
        kafka: PipKafka,
        *,
        events: int,
        routers: int,
        seed: int,
        seconds: float,
        kills: int = 2,
        environment: dict[str, str],
    ) -> None:
        self._here = here
        self._kafka = kafka
        self._events = events
        self._seconds = seconds
        self._kills = kills
        self._environment = environment
        self._random = random.Random(seed)
        self._routed = Routed(here)
        self._slots = [Slot(name, self._start(name)) for name in (f"r{number}" for number in range(routers))]
        self._broker_wakes: float | None = None
        self.done: Counter[str] = Counter()
        self.reasons: list[str] = []  # the ends of the logs of routers that ended with 1

    def run(self) -> None:
        """Emit everything within about `seconds` under chaos (longer, until some were killed), then check it all."""
        began = time.monotonic()
        strike_at = began + 1.0
        while (
            (now := time.monotonic()) < began + self._seconds
            or self._routed.count < self._events
            or self.done["killed"] < self._kills
        ):
            wanted = int(self._events * min(1.0, (now - began) / self._seconds))
            if self._broker_wakes is None and wanted > self._routed.count:
                self._routed.emit(min(2_000, wanted - self._routed.count))
            self._keep_up(now)
            if now > strike_at:
                self._strike(now)
                strike_at = now + self._random.uniform(0.2, 1.5)
            time.sleep(0.02)
        self._end()
        self._routed.check(120)

    def _start(self, name: str) -> subprocess.Popen[bytes]:
        return self._here.router(name, **self._environment)

    def _keep_up(self, now: float) -> None:
        """Wake and start what is due."""
        if self._broker_wakes is not None and now > self._broker_wakes:
            self._kafka.resume(1)
            self._broker_wakes = None
        for slot in self._slots:
            if slot.wake_at is not None and now > slot.wake_at:
                slot.process.send_signal(signal.SIGCONT)
                slot.wake_at = None
            code = slot.process.poll()
            if code is not None and slot.start_at is None:
                # 1: its supervisor starts another. Anything but that and our own signals is a defect.
                assert code in (0, 1, -signal.SIGKILL, -signal.SIGTERM), (
                    f"{slot.name} ended with {code}\n{self._here.logs()}"
                )
                self.done[f"exit {code}"] += 1
                if code == 1:
                    self.reasons.append((self._here.folder / f"{slot.name}.log").read_text()[-1500:])
                slot.start_at = now
            if slot.start_at is not None and now > slot.start_at:
                slot.assignments = self._assignments(slot)
                slot.process = self._start(slot.name)
                slot.start_at = None
                slot.leaves = False

    def _end(self) -> None:
        """Whoever was struck may be on its way out: one more router, which nobody strikes."""
        self._kafka.resume(1)
        for slot in self._slots:
            if slot.process.poll() is None:
                slot.process.send_signal(signal.SIGCONT)
        self._start("last")

    def _strike(self, now: float) -> None:
        strikes: list[Callable[[Slot, float], None]] = [self._kill, self._kill, self._stop, self._leave]
        if self._broker_wakes is None and self._random.random() < 0.05:
            self.done["broker paused"] += 1
            self._kafka.pause(1)
            self._broker_wakes = now + self._random.uniform(0.5, 3.0)
            return
        running = [
            slot
            for slot in self._slots
            if slot.process.poll() is None and slot.wake_at is None and self._assignments(slot) > slot.assignments
        ]
        if running:
            self._random.choice(strikes)(self._random.choice(running), now)

    def _assignments(self, slot: Slot) -> int:
        """Who only starts up is no victim."""
        return (self._here.folder / f"{slot.name}.log").read_text().count('"event": "assigned"')

    def _kill(self, slot: Slot, now: float) -> None:
        self.done["killed"] += 1
        slot.process.kill()
        slot.process.wait()
        slot.start_at = now + self._random.choice((0.0, 0.0, 1.0, 3.0))

    def _stop(self, slot: Slot, now: float) -> None:
        """Sometimes for longer than its session lasts: it wakes up as a zombie."""
        self.done["stopped"] += 1
        os.kill(slot.process.pid, signal.SIGSTOP)
        slot.wake_at = now + self._random.choice((0.3, 1.0, 4.0))

    def _leave(self, slot: Slot, _now: float) -> None:
        if not slot.leaves:
            self.done["left"] += 1
            slot.leaves = True
            slot.process.terminate()
