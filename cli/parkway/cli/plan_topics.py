"""Topics of somebody else's that the plan in force names."""

from dataclasses import dataclass

from confluent_kafka.admin import AdminClient

from parkway.cli.plan_change import plan_in_force
from parkway.runtime.plan_log import read_plans
from parkway.runtime.settings import Settings
from parkway.schemas.errors import ParkwayError


@dataclass(frozen=True, slots=True)
class PlanTopics:
    """`sources` are read by routers and have any number of partitions; `replies` have as many as `requests`."""

    sources: tuple[str, ...] = ()
    replies: tuple[str, ...] = ()


def topics_of_plan(settings: Settings, admin: AdminClient) -> PlanTopics:
    """None of them where there is no plan in force, or no right to read it: routers may have theirs from a file."""
    try:
        current = plan_in_force(read_plans(settings, admin, f"{settings.namespace}.topics")[0])
    except ParkwayError:
        return PlanTopics()
    if current is None or current.plan is None:
        return PlanTopics()
    return PlanTopics(tuple(source.topic for source in current.plan.sources), current.plan.reply_topics)
