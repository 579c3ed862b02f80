"""Who takes part: how it is started, what it guarantees, and how much of the work it can get through in a run."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.venvs import COMPETITORS, python_of

PARKWAY_ROUTER = "Parkway router"


@dataclass(frozen=True)
class Contestant:
    """`share`: the part of the events that it is given. `guarantee`: for people; `mode`: what its program is told."""

    name: str
    guarantee: str
    triggers: int = 100
    program: str = ""  # a folder and a script in competitors/; empty: our own router
    mode: str = ""
    share: float = 1.0

    @property
    def ours(self) -> bool:
        return not self.program

    @property
    def label(self) -> str:
        return f"{self.name}, {self.triggers:,} triggers" if self.ours else self.name

    def command(self, script: str) -> Sequence[str | Path]:
        if self.program == "bare":
            return [sys.executable, COMPETITORS / "bare.py"]
        return [python_of(self.program), COMPETITORS / self.program / script]

    def environment(self, bootstrap: str, source: str, sink: str, workload: str) -> Mapping[str, str]:
        return {
            "PYTHONPATH": str(COMPETITORS),
            "BENCH_BOOTSTRAP": bootstrap,
            "BENCH_SOURCE": source,
            "BENCH_SINK": sink,
            "BENCH_GROUP": f"{sink}bench",
            "BENCH_GUARANTEE": self.mode,
            "BENCH_WORKLOAD": workload,
        }


BARE = Contestant("bare loop (confluent-kafka)", "at least once", program="bare")
ROUTERS = [Contestant(PARKWAY_ROUTER, "exactly once", count) for count in (100, 10, 10_000)]
QUIX = Contestant("Quix Streams", "at least once", program="quix", mode="at-least-once")
FASTSTREAM = Contestant("FastStream, ack", "at least once", program="faststream", mode="ack", share=0.05)
FRAMEWORKS = [
    QUIX,
    Contestant("Quix Streams", "exactly once", program="quix", mode="exactly-once"),
    FASTSTREAM,
    Contestant("FastStream, ack first", "at most once", program="faststream", mode="ack_first", share=0.05),
    Contestant("aiokafka getmany loop", "at least once", program="aiokafka"),
]
