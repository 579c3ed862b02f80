"""What an agent test runs: an agent with its overrides, its plan, and settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parkway.agents.agent import Agent
from parkway.agents.build import build_plan
from parkway.agents.load import load_agent
from parkway.runtime.settings import Settings
from parkway.runtime.topology import TopicSpec, wanted_topics
from parkway.schemas.plan import Plan
from parkway.testing.overrides import Models, Resources, Tools, scripted, with_overrides
from parkway.testing.scripted import ScriptedModel


@dataclass(frozen=True, slots=True)
class Setup:
    """`partitions` is P. Foreign topics (sources, sinks, reply topics) are made like our own."""

    agent: type[Agent] | Agent
    plan: Plan
    settings: Settings
    partitions: int
    scripted: tuple[ScriptedModel, ...]
    actions: tuple[str, ...] = ()  # that run; none: all

    def instance(self) -> Agent:
        """The agent of one process."""
        return self.agent() if isinstance(self.agent, type) else self.agent

    def foreign_topics(self) -> list[str]:
        sources, sinks = self.plan.sources, self.plan.sinks
        return [*(one.topic for one in sources), *(one.topic for one in sinks), *self.plan.reply_topics]

    def topics(self) -> list[TopicSpec]:
        """Everything that is in the log."""
        ours = wanted_topics(self.settings.topics, self.plan)
        names = {spec.name for spec in ours}
        return [*ours, *(TopicSpec(name) for name in self.foreign_topics() if name not in names)]


def make_setup(
    agent: type[Agent] | Agent | str,
    *,
    models: Models | None,
    tools: Tools | None,
    resources: Resources | None,
    partitions: int,
    settings: Mapping[str, Any] | None,
    policies: Mapping[str, Any] | None,
    actions: Sequence[str],
    **own: Any,
) -> Setup:
    """`agent` may be `MODULE:AGENT`. `policies` go over the plan's (`hop_limit=5`). `own` settings go over the user's.

    Content is captured, as in `parkway dev`: error texts say what went wrong. Raises AgentTestError, AgentError,
    SettingsError, and what a plan raises for a policy that it does not take.
    """
    found = load_agent(agent) if isinstance(agent, str) else agent
    changed = with_overrides(found, models or {}, tools or {}, resources or {})
    cls = changed if isinstance(changed, type) else type(changed)
    source = agent if isinstance(agent, str) else f"{cls.__module__}:{cls.__name__}"
    plan = build_plan(changed, source)
    if policies:
        plan = Plan.model_validate({**plan.model_dump(), **policies}).with_build()
    taken = tuple(one for one in scripted(models or {}) if isinstance(one, ScriptedModel))
    return Setup(
        changed,
        plan,
        Settings(**{"capture_content": True, **(settings or {}), **own}),
        partitions,
        taken,
        tuple(actions),
    )
