"""What a doctor asks of one installation: topics, rights, plan, clocks."""

import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from confluent_kafka import IsolationLevel, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AclOperation, AdminClient, ClusterMetadata, OffsetSpec

from parkway.cli.durations import duration
from parkway.cli.findings import Finding, ok, unknown, warning, wrong
from parkway.cli.plan_change import marks, plan_in_force
from parkway.cli.scan import held_back, stable_ends
from parkway.router.plan_diff import diff
from parkway.runtime.plan_log import read_plans
from parkway.runtime.settings import Settings
from parkway.runtime.topic_differences import topic_differences
from parkway.schemas.errors import ParkwayError
from parkway.schemas.plan import Plan
from parkway.schemas.topics import Topics

_ASK: Final = 15.0
_SKEW_MS: Final = 2_000
_OPEN_SECONDS: Final = 3.0
_READ, _WRITE = AclOperation.READ, AclOperation.WRITE


def current_plan(settings: Settings, admin: AdminClient) -> tuple[Plan | None, list[Finding]]:
    """The plan in force, and what is to be said of the plan topic."""
    try:
        found, _ = read_plans(settings, admin, f"{settings.namespace}.doctor")
    except ParkwayError as error:
        return None, [warning("plan", str(error), "routers that have their plan from a file (--plan) need none")]
    current = plan_in_force(found)
    if current is None or current.plan is None:
        return None, [
            warning(
                "plan",
                f"no plan in {settings.topics.plans}",
                "`parkway plan apply plan.json`; `parkway dev` has a file: `doctor --plan plan.json` looks at it",
            )
        ]
    newer = [one for one in found if one.offset > current.offset]
    said = [
        wrong("plan", f"offset {one.offset} of {settings.topics.plans}: {one.problem or 'its triggers do not load'}",
              "`parkway plan apply plan.json` with one that loads")
        for one in newer
    ]  # fmt: skip
    names = ", ".join(action.name for action in current.plan.actions)
    return current.plan, [*said, ok("plan", f"{current.plan.build} of {current.plan.agent} is in force: {names}")]


def check_plan_file(given: Plan, current: Plan | None) -> Iterator[Finding]:
    """Is the plan in the file the one in force?"""
    changes = diff(current, given.with_build())
    if changes:
        lines = "; ".join(changes.lines())
        yield warning(
            "plan", f"the file's plan is not the one in force: {lines}", "`parkway plan apply FILE`, if it is newer"
        )
    else:
        yield ok("plan", "the file's plan is the one in force")


def check_marks(settings: Settings, admin: AdminClient, plan: Plan) -> Iterator[Finding]:
    """Do all routers run the plan in force?"""
    shown = marks(settings, admin, plan)
    if shown is None:
        yield unknown("plan", "the routers' offsets give no stable answer now", "ask again")
        return
    others = {place: build for place, build in shown.items() if build not in {None, plan.build}}
    never = [place for place, build in shown.items() if build is None]
    if others:
        builds = ", ".join(sorted(set(filter(None, others.values()))))
        mend = "start routers (without --plan), or wait until they have taken it; `parkway plan show` lists them"
        yield warning("plan", f"{len(others)} of {len(shown)} router partitions were last routed by {builds}", mend)
    elif len(never) == len(shown):
        yield warning("plan", "no router has ever committed", "start one: `parkway router`")
    else:
        yield ok("plan", f"routers run it in {len(shown) - len(never)} of {len(shown)} partitions")


def check_topics(settings: Settings, admin: AdminClient, plan: Plan) -> Iterator[Finding]:
    """Missing topics, partition counts and settings that differ."""
    found = topic_differences(admin, settings.bootstrap_servers, settings.topics, plan)
    missing = [one.topic for one in found if one.what == "missing"]
    if missing:
        mend = "`parkway plan show --json > plan.json && parkway topics apply --plan plan.json` (yours you create)"
        yield wrong("topics", f"missing: {', '.join(missing)}", mend)
    for one in found:
        if one.what == "partitions":
            yield wrong("topics", str(one), "`parkway topics grow` brings all to one number")
        elif one.what not in {"missing", "left_over", "unreadable"}:
            mend = f"kafka-configs --alter --topic {one.topic} --add-config {one.what}={one.wanted}"
            yield warning("topics", str(one), "add replicas" if one.what == "replication" else mend)
        elif one.what == "unreadable":
            yield unknown("topics", str(one), "give this principal DescribeConfigs on the topics")
    left = [one.topic for one in found if one.what == "left_over"]
    if left:
        yield warning("topics", f"not used by the plan in force: {', '.join(left)}", "delete them when they are empty")
    if not found:
        yield ok("topics", "all there, as `topics apply` makes them")


def check_rights(settings: Settings, admin: AdminClient, plan: Plan, there: Mapping[str, Any]) -> Iterator[Finding]:
    """What this principal may do in topics. Rights on groups and transactional ids are not told by every broker."""
    topics = settings.topics
    names = [name for name in there if topics.is_ours(name)]
    rights: dict[str, set[AclOperation]] = {}
    asked = admin.describe_topics(TopicCollection(names), include_authorized_operations=True, request_timeout=_ASK)
    for name, future in asked.items():
        try:
            rights[name] = set(future.result().authorized_operations or ())
        except KafkaException:
            rights[name] = set()
    if not any(rights.values()):
        yield unknown("rights", "this Kafka does not tell what this principal may do in topics")
        return
    for role, needs in _roles(topics, plan).items():
        lacks = [
            f"{operation.name} on {name}"
            for name, operations in needs.items()
            for operation in operations
            if name in rights and operation not in rights[name]
        ]
        if lacks:
            shown = ", ".join(lacks[:4]) + (f" and {len(lacks) - 4} more" if len(lacks) > 4 else "")
            yield unknown("rights", f"this principal may not {role}: it lacks {shown}", "fine, if it is not to")
        else:
            yield ok("rights", f"this principal may {role}, as far as topics go")


def _roles(topics: Topics, plan: Plan) -> dict[str, dict[str, set[AclOperation]]]:
    actions = [topics.action(one.name) for one in plan.actions]
    resumes = [topics.resume(one.name) for one in plan.actions if one.parks]
    inner = {topics.events: {_WRITE}, topics.outputs: {_WRITE}, topics.dlq: {_WRITE}, topics.journal: {_WRITE}}
    return {
        "send requests and read outputs": {topics.requests: {_WRITE}, topics.outputs: {_READ}},
        "run routers": {
            topics.requests: {_READ},
            topics.events: {_READ, _WRITE},
            topics.plans: {_READ},
            **{name: {_WRITE} for name in [*actions, *resumes, topics.dlq, topics.outputs]},
        },
        "run workers": {
            **{name: {_READ} for name in [*actions, *resumes]},
            **inner,
            topics.parked: {_READ, _WRITE},
            topics.state: {_READ, _WRITE},
        },
        "put plans in force": {topics.plans: {_READ, _WRITE}},
    }


def check_transactions(settings: Settings, admin: AdminClient, metadata: ClusterMetadata) -> Iterator[Finding]:
    """Transactions that stay open: they hold back every read_committed reader of their partitions."""
    topics = settings.topics
    names = [name for name in metadata.topics if topics.is_ours(name)]
    places = [(name, number) for name in names for number in metadata.topics[name].partitions]
    suspicious = held_back(admin, places)
    before = stable_ends(admin, suspicious)
    if suspicious:
        time.sleep(_OPEN_SECONDS)
    still = [place for place in held_back(admin, suspicious) if stable_ends(admin, [place])[place] == before[place]]
    if still:
        shown = ", ".join(f"{topic}/{number}" for topic, number in still[:5])
        more = f" and {len(still) - 5} more" if len(still) > 5 else ""
        yield wrong(
            "groups",
            f"a transaction has been open for {_OPEN_SECONDS:g} s or more in {shown}{more}: readers wait behind it",
            f"a process has died: start it again under its instance name, or wait for PARKWAY_TRANSACTION_TIMEOUT "
            f"({settings.transaction_timeout:g} s) and 10 s more; if it stays, an outsider writes transactions there "
            "(kafka-transactions.sh find-hanging)",
        )
    else:
        yield ok("groups", "no transaction stays open")


def check_clock(settings: Settings, admin: AdminClient, metadata: ClusterMetadata) -> Iterator[Finding]:
    """Are records from the future here? Deadlines are compared with the clock of whoever holds the request."""
    topics = settings.topics
    names = [name for name in (topics.requests, topics.events, topics.outputs) if name in metadata.topics]
    asked = {
        TopicPartition(name, number): OffsetSpec.max_timestamp()
        for name in names
        for number in metadata.topics[name].partitions
    }
    try:
        answers = admin.list_offsets(asked, isolation_level=IsolationLevel.READ_UNCOMMITTED, request_timeout=_ASK)
        newest = max((future.result().timestamp for future in answers.values()), default=-1)
    except KafkaException as failure:
        yield unknown("clock", f"the newest timestamps cannot be asked ({failure.args[0].str()})")
        return
    ahead = newest - int(time.time() * 1000)
    if newest < 0:
        yield ok("clock", "no record yet to compare this machine's clock with")
    elif ahead > _SKEW_MS:
        mend = "synchronize the clocks (NTP) of producers, workers and this machine: deadlines are times of day"
        yield wrong(
            "clock", f"the newest record was written {duration(ahead / 1000)} from now, by this machine's clock", mend
        )
    else:
        yield ok(
            "clock",
            f"no record is from the future; the newest is {duration(-ahead / 1000)} old (`--probe` asks the broker)",
        )
