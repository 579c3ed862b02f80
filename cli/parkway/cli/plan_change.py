"""What a new plan takes away from the one in force, and whether it may (DESIGN 6).

An action ends in two steps. `--retire NAME` publishes a plan that keeps it for continuations only. Once every
partition of the routers shows that plan, nothing new can come to the action; once it has neither records nor parked
requests left, a plan without it is taken.
"""

from collections.abc import Iterator, Sequence

from confluent_kafka.admin import AdminClient

from parkway.router.table import TriggerTable
from parkway.runtime.plan_log import Published
from parkway.runtime.plan_mark import marked_builds
from parkway.runtime.settings import Settings
from parkway.runtime.topology import router_partitions
from parkway.schemas.errors import ParkwayError
from parkway.schemas.plan import ActionPlan, Plan
from parkway.workers.left import what_is_left

_SHOWN = 8


class PlanChangeError(ParkwayError):
    """A plan that may not follow the one in force; the message says what is left and the way out."""


def compile_triggers(plan: Plan) -> None:
    """Raise TriggerLoadError for a trigger that does not compile."""
    TriggerTable([(action.name, action.triggers) for action in plan.actions])


def plan_in_force(found: Sequence[Published]) -> Published | None:
    """The newest plan that routers can have taken: one that can be read and compiles."""
    for one in reversed(found):
        if one.plan is None:
            continue
        try:
            compile_triggers(one.plan)
        except ParkwayError:
            continue
        return one
    return None


def dropped_actions(old: Plan, new: Plan) -> list[ActionPlan]:
    """Actions of `old` that `new` does not have."""
    return [action for action in old.actions if new.action(action.name) is None]


def check_drops(settings: Settings, admin: AdminClient, old: Plan, dropped: Sequence[ActionPlan]) -> None:
    """Raise PlanChangeError unless these actions of the plan in force may go."""
    fresh = [action.name for action in dropped if not action.retired]
    if fresh:
        ways = " ".join(f"--retire {name}" for name in fresh)
        raise PlanChangeError(
            f"the plan lacks {_names(fresh)} of the plan in force (build {old.build}): what is queued or parked there "
            f"would never end; add {ways} to keep {'it' if len(fresh) == 1 else 'them'} for continuations only, "
            "or --force to lose it"
        )
    names = [action.name for action in dropped]
    unseen = _unseen(settings, admin, old)
    if unseen:
        raise PlanChangeError(
            f"{_names(names)} may not be dropped yet: {len(unseen)} partitions of {settings.topics.router_group} do "
            f"not show plan {old.build}, under which it is retired ({_places(unseen)}): start routers, or wait until "
            "they have taken the plan (`parkway plan show`); --force drops it and says what is lost"
        )
    left = [each for each in what_is_left(settings, admin, dropped) if each]
    if left:
        raise PlanChangeError(
            f"{'; '.join(f'retired action {each.action!r} still has {each}' for each in left)}: let its workers run, "
            f"or keep it with {' '.join(f'--retire {each.action}' for each in left)}; --force drops and loses these"
        )


def losses(settings: Settings, admin: AdminClient, old: Plan, dropped: Sequence[ActionPlan]) -> Iterator[str]:
    """What `--force` loses, one line for each action and topic that is left behind."""
    unseen = _unseen(settings, admin, old)
    for each, action in zip(what_is_left(settings, admin, dropped), dropped, strict=True):
        yield f"lost: action {each.action}: {each}" if each else f"action {each.action}: nothing is left to lose"
        if not action.retired or unseen:
            yield f"      and what routers send to {settings.topics.action(action.name)} until they have the new plan"


def marks(settings: Settings, admin: AdminClient, plan: Plan) -> dict[tuple[str, int], str | None] | None:
    """(topic, partition) -> the build that its router shows; None when Kafka gives no stable answer."""
    places = router_partitions(admin, settings.bootstrap_servers, settings.topics, plan)
    return marked_builds(settings, f"{settings.namespace}.plan", places)


def _unseen(settings: Settings, admin: AdminClient, plan: Plan) -> list[tuple[str, int]]:
    shown = marks(settings, admin, plan)
    if shown is None:
        raise PlanChangeError(f"no stable answer about the offsets of {settings.topics.router_group}: try again")
    return [place for place, build in shown.items() if build != plan.build]


def _names(names: Sequence[str]) -> str:
    return f"action{'s' if len(names) > 1 else ''} {', '.join(map(repr, names))}"


def _places(places: Sequence[tuple[str, int]]) -> str:
    shown = ", ".join(f"{topic}/{partition}" for topic, partition in places[:_SHOWN])
    return shown if len(places) <= _SHOWN else f"{shown}, ..."
