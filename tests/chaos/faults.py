"""What is done to an installation, and when: a schedule that a seed repeats."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

# A broker that is away longer than the transaction timeout (10 s here) fences its own producers, so some are.
_BROKER_AWAY = (0.5, 14.0)
_PROCESS_PAUSED = (0.2, 14.0)  # some longer than the session timeout (6 s): a zombie wakes up
_WEIGHTS = {"router": 3, "worker": 5, "broker": 1}


class Kind(StrEnum):
    KILL = "SIGKILL"
    PAUSE = "SIGSTOP"


@dataclass(frozen=True, slots=True)
class Fault:
    """`at` and `lasts` in seconds; a killed process is started again after `lasts`, a paused one goes on."""

    at: float
    target: str  # router-0, worker-2, broker-1
    kind: Kind
    lasts: float


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
        # A broker needs some seconds to come up; the fleet then has some to work before it goes away again.
        busy[lock] = at + lasts + (10.0 if role == "broker" else 0.0)
        faults.append(Fault(at, target, kind, lasts))
    return faults


def _times(dice: random.Random, seconds: float) -> Iterator[float]:
    at = 5.0
    while at < seconds:
        yield at
        at += dice.expovariate(1 / 4.0)


def summary(faults: Sequence[Fault]) -> str:
    counts: dict[str, int] = {}
    for fault in faults:
        what = f"{fault.kind} {fault.target.partition('-')[0]}"
        counts[what] = counts.get(what, 0) + 1
    return ", ".join(f"{count} x {what}" for what, count in sorted(counts.items()))
