"""What is done to an installation, and when: a schedule that a seed repeats."""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

# A broker that is away longer than the transaction timeout (10 s here) fences its own producers, so some are.
_BROKER_AWAY = (0.5, 14.0)
_PROCESS_PAUSED = (0.2, 14.0)  # some longer than the session timeout (6 s): a zombie wakes up
_WEIGHTS = {"router": 3, "worker": 5, "broker": 1}
# A broker needs some seconds to come up; the fleet then has some to work before another one goes away.
_BROKER_COMES_UP = 10.0
FOR_EVER = math.inf


class Kind(StrEnum):
    KILL = "SIGKILL"
    PAUSE = "SIGSTOP"


@dataclass(frozen=True, slots=True)
class Fault:
    """`at` and `lasts` in seconds; a killed process is started again after `lasts`, a paused one goes on."""

    at: float
    target: str  # router-0, worker-2, broker-1
    kind: Kind
    lasts: float  # FOR_EVER: a broker that never comes back

    @property
    def strikes_broker(self) -> bool:
        return self.target.startswith("broker-")

    def __str__(self) -> str:
        return f"{self.kind} {self.target} for {'ever' if self.lasts == FOR_EVER else f'{self.lasts:.1f} s'}"


def schedule(seed: int, seconds: float, routers: int, workers: int, brokers: int) -> list[Fault]:
    """Faults over `seconds`, a few seconds apart. At most one broker is away at a time."""
    dice = random.Random(seed)
    names = {"router": routers, "worker": workers, "broker": brokers}
    faults: list[Fault] = []
    busy: dict[str, float] = {}
    for at in _times(dice, seconds):
        role = dice.choices(list(names), [_WEIGHTS[name] for name in names])[0]
        number = dice.randrange(names[role]) + (1 if role == "broker" else 0)
        target = f"{role}-{number}"
        lock = "broker" if role == "broker" else target
        kind = dice.choice(list(Kind))
        away = dice.uniform(*(_BROKER_AWAY if role == "broker" else _PROCESS_PAUSED))
        lasts = min(away, 1.0) if kind is Kind.KILL and role != "broker" else away
        if busy.get(lock, 0.0) > at or at + lasts > seconds:
            continue
        busy[lock] = at + lasts + (_BROKER_COMES_UP if role == "broker" else 0.0)
        faults.append(Fault(at, target, kind, lasts))
    return faults


def lose_broker(faults: Sequence[Fault], seed: int, seconds: float, brokers: int) -> list[Fault]:
    """The same schedule, but in its middle third one of three brokers dies for ever.

    The two that are left are all it takes (a majority of the controllers, `min.insync.replicas` 2), so no other
    broker is away then or struck later: without one of them nothing could be written, by anybody.
    """
    dice = random.Random(f"{seed} loses a broker")
    lost = Fault(dice.uniform(seconds / 3, seconds * 2 / 3), f"broker-{dice.randint(1, brokers)}", Kind.KILL, FOR_EVER)
    kept = [one for one in faults if not one.strikes_broker or one.at + one.lasts + _BROKER_COMES_UP < lost.at]
    return sorted([*kept, lost], key=lambda one: one.at)


def _times(dice: random.Random, seconds: float) -> Iterator[float]:
    at = 5.0
    while at < seconds:
        yield at
        at += dice.expovariate(1 / 4.0)


def summary(faults: Sequence[Fault]) -> str:
    counts: dict[str, int] = {}
    for fault in faults:
        what = f"{fault.kind} {fault.target.partition('-')[0]}{' for ever' if fault.lasts == FOR_EVER else ''}"
        counts[what] = counts.get(what, 0) + 1
    return ", ".join(f"{count} x {what}" for what, count in sorted(counts.items()))
