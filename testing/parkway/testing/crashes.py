"""One scenario, through every point of death: what comes out must be what comes out without a death.

For every commit of the router and of the workers the process dies just before it and just after it. Everything that it
holds in memory is gone; the log stays, and another process carries on from there. Models and tools are called again
for what was not committed (side effects can run again); nothing comes out twice, and nothing is lost.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, Literal

from parkway.agents.agent import Agent, definition_of
from parkway.schemas import headers
from parkway.testing.agent_test import AgentTest, SyncAgentTest
from parkway.testing.errors import AgentTestError
from parkway.testing.memory.installation import MemoryInstallation
from parkway.testing.memory.lives import Death
from parkway.testing.views import key_text

Crash = Literal["every-commit"]
Outcome = dict[str, list[str]]  # where and under which key -> what came out there, in order

_UUID: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_IDS: Final = re.compile(rf"{_UUID}|(?<![0-9a-f])[0-9a-f]{{32}}(?![0-9a-f])")  # `call_<32 digits>` too
_TIMES: Final = re.compile(r"\b1\d{12}\b")  # ms since 1970


class CrashError(AssertionError):
    """A death has changed what comes out; the message names the death and the difference."""


@dataclass(frozen=True, slots=True)
class Survived:
    """What a scenario was put through. `commits` are those of the run without a death, `deaths` those that came."""

    commits: list[str]
    deaths: list[Death] = field(default_factory=list)
    outcome: Outcome = field(default_factory=dict)


async def run_scenario(
    agent: type[Agent] | Agent | str,
    scenario: Callable[[AgentTest], Awaitable[None]],
    *,
    crash: Crash | None = None,
    in_order: bool | None = None,
    **options: Any,
) -> Survived:
    """Run `scenario` with a new AgentTest; with `crash="every-commit"` again for every point of death.

    What comes out per key is compared: outputs, responses, dead letters, records of foreign topics, and what is still
    parked; random ids and times aside. The order counts with `in_order`; by default where every action of the
    agent keeps it (only actions of its own, with `order="key"`). `options` are AgentTest's; scripted models begin
    anew for every run. Raises CrashError.
    """
    runs = _Runs(crash, options, in_order=in_order)
    for death in runs.deaths():
        test = AgentTest(agent, **options, death=death)
        try:
            async with test:
                await scenario(test)
                await test.run()
                runs.ended(death, test)
        except CrashError:
            raise
        except Exception as error:
            runs.failed(death, error)
    return runs.survived()


def run_scenario_sync(
    agent: type[Agent] | Agent | str,
    scenario: Callable[[SyncAgentTest], None],
    *,
    crash: Crash | None = None,
    in_order: bool | None = None,
    **options: Any,
) -> Survived:
    """As `run_scenario`, for a scenario that is no coroutine function."""
    runs = _Runs(crash, options, in_order=in_order)
    for death in runs.deaths():
        test = SyncAgentTest(agent, **options, death=death)
        try:
            with test:
                scenario(test)
                test.run()
                runs.ended(death, test)
        except CrashError:
            raise
        except Exception as error:
            runs.failed(death, error)
    return runs.survived()


class _Runs:
    """The runs of one scenario: the first one without a death, then one for each death that comes."""

    def __init__(self, crash: Crash | None, options: dict[str, Any], *, in_order: bool | None) -> None:
        if crash not in {None, "every-commit"}:
            raise AgentTestError(f"crash={crash!r}: 'every-commit', or None for none")
        if crash is not None and options.get("kafka"):
            raise AgentTestError("crash='every-commit' runs in memory only; leave kafka=... out")
        self._crash = crash
        self._in_order = in_order
        self._deaths: list[Death] = []
        self._commits: list[str] = []
        self._expected: Outcome = {}

    def deaths(self) -> Iterator[Death | None]:
        yield None
        if self._crash is None:
            return
        # To the first that does not come: no two runs need have as many commits, as the test's thread sends meanwhile.
        for number in count(1):
            for death in (Death(number, "before"), Death(number, "after")):
                yield death
                if self._deaths[-1:] != [death]:
                    return

    def ended(self, death: Death | None, test: AgentTest | SyncAgentTest) -> None:
        outcome = _outcome(test, in_order=self._keeps_order(test))
        installation = test.installation
        lives = installation.lives if isinstance(installation, MemoryInstallation) else None
        if death is None:
            self._expected = outcome
            self._commits = list(lives.commits) if lives is not None else []
            return
        if outcome != self._expected:
            difference = "\n".join(_differences(self._expected, outcome))
            raise CrashError(f"the process died {self._place(death)}, and then something else came out:\n{difference}")
        if lives is not None and lives.death is None:  # else the run was over before it
            self._deaths.append(death)

    def failed(self, death: Death | None, error: Exception) -> None:
        if death is None:
            raise error
        raise CrashError(
            f"the process died {self._place(death)}, and then the scenario failed: {type(error).__name__}: {error}"
        ) from error

    def survived(self) -> Survived:
        return Survived(self._commits, self._deaths, self._expected)

    def _place(self, death: Death) -> str:
        commit = self._commits[death.commit - 1] if death.commit <= len(self._commits) else ""
        return f"{death} {commit}".rstrip()

    def _keeps_order(self, test: AgentTest | SyncAgentTest) -> bool:
        if self._in_order is not None:
            return self._in_order
        specs = [definition_of(test.agent).action(action.name) for action in test.plan.actions]
        return all(spec is not None and spec.options.order == "key" for spec in specs)


def _outcome(test: AgentTest | SyncAgentTest, *, in_order: bool) -> Outcome:
    found: Outcome = defaultdict(list)
    topics = test.topics
    inside = {topics.requests, topics.events, topics.parked, topics.state, topics.journal, topics.plans}
    for record in test.all_records():
        if record.topic in inside or record.topic.startswith((topics.action(""), topics.resume(""))):
            continue
        reason = record.headers.get(headers.ERROR_TYPE, b"").decode()
        where = f"{record.topic.removeprefix(f'{topics.namespace}.')} [{key_text(record.key)}]"
        found[where].append(" ".join(filter(None, [reason, _plain(test.value_of(record), record.value)])))
    for parked in test.parked:
        found["parked"].append(f"{parked.action} of {_without_ids(json.dumps(parked.request.get('attributes')))}")
    for key, value in test.state.items():
        found["state"].append(f"{key}: {_without_ids(json.dumps(value, sort_keys=True))}")
    ordered = {"parked", "state"} if in_order else set(found)
    return {where: sorted(lines) if where in ordered else lines for where, lines in found.items()}


def _plain(body: Any, value: bytes | None) -> str:
    if not isinstance(body, dict) or "attributes" not in body:
        return _without_ids((value or b"").decode("utf-8", "replace"))
    return _without_ids(json.dumps({"type": body.get("type"), **body["attributes"]}, sort_keys=True))


def _without_ids(text: str) -> str:
    return _TIMES.sub("<ms>", _IDS.sub("<id>", text))


def _differences(expected: Outcome, found: Outcome) -> Iterator[str]:
    for where in sorted({*expected, *found}):
        wanted, got = expected.get(where, []), found.get(where, [])
        if wanted == got:
            continue
        missing, too_many = Counter(wanted) - Counter(got), Counter(got) - Counter(wanted)
        yield from (f"  {where}: missing: {line}" for line in missing.elements())
        yield from (f"  {where}: not expected: {line}" for line in too_many.elements())
        if not missing and not too_many:
            yield f"  {where}: in another order: {' | '.join(got)} instead of {' | '.join(wanted)}"
