"""Kills a chat worker in the middle of its work, and measures how long its partitions wait for another one."""

import signal
import time
from dataclasses import dataclass, field
from typing import Final

from examples.github_triage.demo.cluster import Cluster, Member
from examples.github_triage.demo.processes import Fleet, Process
from examples.github_triage.demo.watch import CHAT, Parked, Watch

from parkway.schemas.topics import Topics

# A chat is continued with a model call, which takes the rule-based model 0.2 s at least. So in this window after its
# tool response was routed the worker has taken it, and the call cannot have ended. In seconds.
_EARLIEST: Final = 0.1
_LATEST: Final = 0.2
_CATCH_UP: Final = 0.2
_ASK_OWNERS_EVERY: Final = 0.25


@dataclass(slots=True)
class Outage:
    """One killed worker. Times are seconds since 1970; `served` holds seconds from the kill, by partition."""

    process: Process
    member: Member
    pid: int
    interrupted: list[Parked]
    killed_at: float
    served: dict[int, float] = field(default_factory=dict)

    @property
    def over(self) -> bool:
        return self.served.keys() == self.member.partitions

    @property
    def waited(self) -> float:
        """The longest wait of a partition so far."""
        return max(self.served.values(), default=0.0)


class Killer:
    """Waits for the moment: a chat worker that owns a parked entry and has the model call for it running."""

    def __init__(self, fleet: Fleet, cluster: Cluster, watch: Watch, topics: Topics) -> None:
        self._fleet = fleet
        self._cluster = cluster
        self._watch = watch
        self._group = topics.worker_group(CHAT)
        self._members = cluster.members([self._group])[self._group]
        self._asked_owners_at = 0.0
        self.outage: Outage | None = None

    def look(self) -> None:
        """Kill when the moment is there; afterwards see who serves the partitions. Call it all the time."""
        if self.outage is not None:
            if not self.outage.over:
                self._measure(self.outage)
            return
        for member in self._members:
            if self._called_for(member):
                self._try(member)
                return

    def _called_for(self, member: Member) -> list[Parked]:
        """Its parked entries whose model call must be running now."""
        now = time.time()
        return [
            entry
            for entry in self._watch.parked_in(member.partitions)
            if _EARLIEST <= now - self._watch.continued_at.get(entry.waits_for, 0.0) <= _LATEST
        ]

    def _try(self, member: Member) -> None:
        """Halt the worker first, so that the moment lasts until it is certain."""
        process = self._fleet.processes[member.client_id.rpartition(".")[2]]
        process.signal(signal.SIGSTOP)
        running = self._called_for(member)
        self._watch.catch_up(_CATCH_UP)
        if not any(self._watch.parked.get(entry.request_id) == entry for entry in running):
            process.signal(signal.SIGCONT)
            return
        interrupted = self._watch.parked_in(member.partitions)
        pid, killed_at = process.pid, time.time()
        process.signal(signal.SIGKILL)
        process.wait(5.0)
        self.outage = Outage(process, member, pid, interrupted, killed_at)
        process.start()  # as an orchestrator would, under the same name

    def _measure(self, outage: Outage) -> None:
        """A partition is served when its chats go on; one without parked chats when it has an owner again."""
        busy = {entry.partition for entry in outage.interrupted}
        for partition in outage.member.partitions - outage.served.keys():
            if self._watch.chat_wrote_at.get(partition, 0.0) > outage.killed_at:
                outage.served[partition] = time.time() - outage.killed_at
        idle = outage.member.partitions - busy - outage.served.keys()
        if not idle or time.monotonic() - self._asked_owners_at < _ASK_OWNERS_EVERY:
            return
        self._asked_owners_at = time.monotonic()
        for member in self._cluster.members([self._group])[self._group]:
            if member.id != outage.member.id:
                for partition in idle & member.partitions:
                    outage.served[partition] = time.time() - outage.killed_at
