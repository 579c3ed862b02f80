"""Routers follow the plan topic: a new plan is compiled beside the router's loop, and taken between two batches."""

import threading
import time
from typing import Final

from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient

from parkway.router.routing import Routing
from parkway.runtime import metrics
from parkway.runtime.clients import check_consumer_error
from parkway.runtime.codec import EventCodec
from parkway.runtime.logs import get_logger
from parkway.runtime.plan_log import Published, plan_consumer, published, read_plans
from parkway.runtime.settings import Settings
from parkway.runtime.topology import TopologyError, check_topics
from parkway.schemas.errors import ParkwayError
from parkway.schemas.plan import Plan, PlanError

_POLL: Final = 0.2
_TRY_AGAIN: Final = 3.0  # a plan whose topics are missing: somebody may create them
_REOPEN: Final = 5.0
_WAY_OUT: Final = "parkway plan show --json > plan.json && parkway topics apply --plan plan.json"


class PlanLoader:
    """From a plan to what a router runs. One thread at a time calls an object of this class."""

    def __init__(self, settings: Settings, admin: AdminClient, codec: EventCodec) -> None:
        self.settings = settings
        self.admin = admin
        self._codec = codec

    def load(self, plan: Plan, way_out: str = _WAY_OUT) -> Routing:
        """Check the plan's topics and compile it; `way_out`: the command that creates them.

        Its build is computed anew: the mark that routers commit must name what they run. Raises TopologyError,
        PlanError and TriggerLoadError.
        """
        settings = self.settings
        partitions = check_topics(self.admin, settings.bootstrap_servers, settings.topics, plan, way_out)
        return Routing(plan.with_build(), settings.topics, self._codec, partitions)

    def load_newest(self, client_id: str) -> tuple[Routing, int]:
        """What the plan topic puts in force, and the offset from which to watch it.

        The newest plan that loads, as routers that run already have it: a bad one behind it is met, and said, by
        the watcher. Raises PlanError when there is none, TopologyError when there is no plan topic.
        """
        found, _ = read_plans(self.settings, self.admin, client_id)
        reasons = []
        for one in reversed(found):
            try:
                return self.load(_plan_of(one)), one.offset + 1
            except ParkwayError as error:
                reasons.append(str(error))
        topic = self.settings.topics.plans
        if not reasons:
            raise PlanError(f"no plan in {topic}: run `parkway plan apply plan.json`, or give --plan FILE")
        raise PlanError(f"no plan in {topic} loads; the newest: {reasons[0]}; run `parkway plan apply plan.json`")


class PlanWatcher(threading.Thread):
    """Reads the plan topic from `offset` on; `loader` is this thread's from `start` on.

    `problem` says why the newest plan is not taken, and is None when it is. A plan whose topics are missing, or
    that no broker can be asked about, is tried again; others are not.
    """

    def __init__(self, loader: PlanLoader, client_id: str, running: Plan, offset: int) -> None:
        super().__init__(name="plan-watcher", daemon=True)
        self._refused: str | None = None
        self._unread: str | None = None
        self._loader = loader
        self._client_id = client_id
        self._plan = running  # the newest that was handed over
        self._offset = offset
        self._lock = threading.Lock()
        self._next: Routing | None = None
        self._again: tuple[Published, float] | None = None  # what to try again, and when
        self._stopping = threading.Event()
        self._log = get_logger("plans")

    @property
    def problem(self) -> str | None:
        return self._unread or self._refused

    def updates(self) -> Routing | None:
        """The plan to change to, once; None when there is no other. From any thread."""
        with self._lock:
            routing, self._next = self._next, None
            return routing

    def stop(self) -> None:
        """From any thread. Join afterwards."""
        self._stopping.set()

    def run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._watch()
            except Exception as error:  # without a watcher the router would keep its plan for ever, unseen
                self._unread = f"the plan topic is not read: {error}"
                self._log.warning("plan_topic_not_read", detail=str(error), again_in=_REOPEN)
                self._stopping.wait(_REOPEN)

    def _watch(self) -> None:
        consumer = plan_consumer(self._loader.settings, self._client_id, self._offset)
        try:
            while not self._stopping.is_set():
                self._look(consumer)
        finally:
            consumer.close()

    def _look(self, consumer: Consumer) -> None:
        message = consumer.poll(_POLL)
        if message is None:
            self._unread = None
            if self._again is not None and time.monotonic() >= self._again[1]:
                self._take(self._again[0], first=False)
            return
        error = message.error()
        if error is not None:
            check_consumer_error(error)
            self._log.warning("consumer_error", code=error.name(), detail=error.str())
            return
        self._offset = (message.offset() or 0) + 1
        found = published(message, self._loader.settings.namespace)
        if found is not None:
            self._take(found, first=True)

    def _take(self, found: Published, *, first: bool) -> None:
        self._again = None
        try:
            plan = _plan_of(found).with_build()
            routing = self._loader.load(plan) if plan != self._plan else None
        except ParkwayError as error:
            if isinstance(error, TopologyError):
                self._again = (found, time.monotonic() + _TRY_AGAIN)
            self._refuse(found, str(error), first=first)
            return
        self._refused = None
        if routing is not None:
            self._plan = plan
            with self._lock:
                self._next = routing

    def _refuse(self, found: Published, reason: str, *, first: bool) -> None:
        self._refused = f"the plan at offset {found.offset} of {self._loader.settings.topics.plans}: {reason}"
        if first:
            metrics.PLAN_REFUSED.inc()
            self._log.error("plan_refused", offset=found.offset, reason=reason, running=self._plan.build)


def _plan_of(found: Published) -> Plan:
    if found.plan is None:
        raise PlanError(found.problem or "no plan")
    return found.plan
