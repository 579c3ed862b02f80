"""A partition as a restore found it."""

from dataclasses import dataclass, field

from parkway.schemas.parked import ParkedCancellation
from parkway.workers.completion import Completion
from parkway.workers.entry import BrokenEntry
from parkway.workers.entry_store import EntryStore
from parkway.workers.entry_store_memory import MemoryEntries
from parkway.workers.marks import Marks
from parkway.workers.state_store import StateStore
from parkway.workers.step_store import StepStore
from parkway.workers.work import Lane


@dataclass(slots=True)
class Restored:
    """One partition, ready to start."""

    lanes: dict[Lane, Completion]
    stamps: dict[Lane, str]  # of the committed maps
    number: int  # of the newest of them
    entries: EntryStore = field(default_factory=MemoryEntries)
    cancellations: dict[bytes, ParkedCancellation] = field(default_factory=dict)  # of requests that have not come
    steps: StepStore = field(default_factory=StepStore)
    state: StateStore = field(default_factory=StateStore)
    broken: list[BrokenEntry] = field(default_factory=list)  # steps and cancellations; of requests the entries know
    marks: dict[Lane, Marks] = field(default_factory=dict)
    ends: dict[Lane, int] = field(default_factory=dict)  # high watermarks: nothing beyond was taken by anyone
    parked_from: int = 0  # where reading of `parked` began
    parked_upto: int = 0  # what lies below this offset is in `entries`
    state_from: int = 0  # the same of `state`
    state_upto: int = 0
