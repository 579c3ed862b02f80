"""The plan topic: what is published, what is refused, and how routers follow it while they run."""

import json
import threading
from collections.abc import Callable
from itertools import chain
from typing import Self

import pytest
from confluent_kafka import Producer
from installation import Installation, event, wait_for

from parkway.schemas.plan import ActionPlan, Plan

FIRST = ActionPlan(name="first", triggers=("order",))
SECOND = ActionPlan(name="second", triggers=("order",))


def plan_of(here: Installation, *actions: ActionPlan) -> Plan:
    return here.plan.model_copy(update={"actions": actions}).with_build()


def put(here: Installation, plan: Plan, *flags: str, code: int = 0) -> str:
    """`parkway plan apply`; returns what it said."""
    file = here.folder / "next.json"
    file.write_bytes(plan.to_json())
    said = here.command("plan", "apply", str(file), "--yes", *flags)
    assert said.code == code, f"{said}\n{here.logs()}"
    return said.out + said.err


def write_by_hand(here: Installation, value: bytes) -> None:
    producer = Producer({"bootstrap.servers": here.settings.bootstrap_servers, "log_level": 0})
    producer.produce(here.topics.plans, value, here.settings.namespace)
    assert producer.flush(30) == 0


def logged(here: Installation, name: str, word: str) -> list[dict[str, object]]:
    return [line for line in here.log_lines(name) if line["event"] == word]


def wait_logged(here: Installation, word: str, count: int, routers: tuple[str, ...] = ("r0", "r1")) -> None:
    try:
        wait_for(f"{count} {word}", lambda: all(len(logged(here, name, word)) >= count for name in routers), 30)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{here.logs()}") from None


def numbers(here: Installation, action: str) -> list[list[int]]:
    """What an action was sent, by partition."""
    found: list[list[int]] = [[] for _ in range(here.partitions)]
    for one in here.read(here.topics.action(action)):
        found[one.partition].append(one.json["attributes"]["number"])
    return found


class Load:
    """Emits numbered orders until it is stopped."""

    def __init__(self, here: Installation) -> None:
        self._here = here
        self._stop = threading.Event()
        self.sent = 0
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            for _ in range(20):
                self._here.emit(event("order", number=self.sent), partition=self.sent % self._here.partitions)
                self.sent += 1
            self._here.flush()
            self._stop.wait(0.02)


def test_a_plan_is_swapped_under_load_and_every_event_is_matched_against_one_plan(
    install: Callable[..., Installation],
) -> None:
    here = install("agents:Orders")
    before, after = plan_of(here, FIRST, SECOND.retire()), plan_of(here, FIRST.retire(), SECOND)
    here.apply(before)
    said = put(here, before)
    assert "+ action first" in said
    for name in ("r0", "r1"):
        here.following_router(name)
    here.wait_members(here.topics.router_group, 2)
    with Load(here) as load:
        wait_for("orders for the first", lambda: sum(map(len, numbers(here, "first"))) > 200)
        said = put(here, after)
        assert "~ action first: retired: continuations only" in said
        wait_logged(here, "plan_swapped", 1)
        wait_for("orders for the second", lambda: sum(map(len, numbers(here, "second"))) > 200)
    here.wait_no_lag(here.topics.router_group, here.topics.requests)
    first, second = numbers(here, "first"), numbers(here, "second")
    for partition in range(here.partitions):
        routed = first[partition] + second[partition]
        assert routed == [number for number in range(load.sent) if number % here.partitions == partition]
    assert here.read(here.topics.dlq) == []


def test_a_plan_that_does_not_load_leaves_the_old_one_running(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders")
    good, next_one = plan_of(here, FIRST, SECOND.retire()), plan_of(here, FIRST.retire(), SECOND)
    here.apply(good)
    put(here, good)
    here.following_router()
    here.wait_members(here.topics.router_group, 1)
    missing = plan_of(here, FIRST, ActionPlan(name="nowhere", triggers=("order",)))
    bad = plan_of(here, FIRST, SECOND).to_json().replace(b'"order"', b'"amount >"')
    for value in (b"nonsense", bad, missing.to_json()):
        write_by_hand(here, value)
    wait_logged(here, "plan_refused", 3, ("r0",))
    reasons = [str(line["reason"]) for line in logged(here, "r0", "plan_refused")]
    assert "JSON" in reasons[0]
    assert "amount >" in reasons[1]
    assert f"missing topic {here.topics.action('nowhere')}" in reasons[2]
    here.emit(event("order", number=1), partition=0)
    here.flush()
    wait_for("it is routed", lambda: numbers(here, "first")[0] == [1])
    # A router that starts now has the newest plan that loads, as the others.
    here.following_router("r1")
    here.wait_members(here.topics.router_group, 2)
    for partition in range(here.partitions):
        here.emit(event("order", number=2), partition=partition)
    here.flush()
    wait_for("all partitions route", lambda: numbers(here, "first") == [[1, 2], [2], [2]])
    shown = here.command("plan", "show")
    assert f"{good.build}  <- not the plan in force" in shown.out
    # Its topics are made: it is taken without being published again.
    here.apply(missing)
    wait_logged(here, "plan_swapped", 1)
    put(here, next_one, "--force")
    wait_logged(here, "plan_swapped", 2)
    write_by_hand(here, b"nonsense")
    assert "holds no plan" in here.command("plan", "show").err
    assert next_one.build in put(here, next_one)  # published again, over the one that is none
    assert "holds no plan" not in here.command("plan", "show").err


def test_apply_refuses_a_plan_that_may_not_be_in_force(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders")
    empty = here.parkway("router")
    assert (empty.returncode, empty.stdout) == (2, "")
    assert "parkway plan apply" in empty.stderr
    elsewhere = here.parkway("router", PARKWAY_NAMESPACE=f"{here.settings.namespace}-empty")
    assert elsewhere.returncode == 2
    assert "parkway topics apply" in elsewhere.stderr
    assert "parkway plan apply" in elsewhere.stderr
    assert "parkway plan apply" in here.command("plan", "show").err
    nowhere = plan_of(here, ActionPlan(name="nowhere", triggers=("order",)))
    assert "parkway topics apply" in put(here, nowhere, code=2)
    assert "amount >" in put(here, plan_of(here, ActionPlan(name="process", triggers=("amount >",))), code=2)
    asked = here.command("plan", "apply", str(here.plan_file))
    assert asked.code == 2
    assert "--yes" in asked.err
    unasked = here.command("plan", "apply", str(here.plan_file), "--json")
    assert unasked.code == 2
    assert json.loads(unasked.out)["error"]["type"] == "nobody_to_ask"
    declined = here.command("plan", "apply", str(here.plan_file), "--json", answer="n\n")
    assert (declined.code, declined.out.strip()) == (1, "n")  # the answer, as a terminal shows it
    assert "+ action process" in declined.err
    assert here.read_plans() == []
    done = json.loads(put(here, here.plan, "--json"))
    assert (done["from"], done["to"], done["lost"], done["published"]) == (None, here.plan.build, [], True)
    assert "process" in done["changes"]["actions"]["added"]
    assert "is in force already" in put(here, here.plan)
    again = json.loads(put(here, here.plan, "--json"))
    assert (again["from"], again["to"], again["published"]) == (here.plan.build, here.plan.build, False)
    assert again["changes"]["same"]
    refused = json.loads(put(here, here.plan.without(["process"]), "--json", code=2))
    assert refused["error"]["type"] == "plan_change"
    assert "--retire process" in refused["error"]["message"]
    assert len(here.read_plans()) == 1
    same = here.command("plan", "diff", str(here.plan_file))
    assert (same.code, same.out) == (0, "")
    changed = here.plan.model_copy(update={"hop_limit": 7, "accepts": (*here.plan.accepts, "new")})
    here.plan_file.write_bytes(changed.to_json())
    differs = here.command("plan", "diff", str(here.plan_file))
    assert (differs.code, differs.out) == (1, "+ accepts new\n~ hop_limit: 100 -> 7\n")
    as_json = here.command("plan", "diff", str(here.plan_file), "--json")
    assert as_json.code == 1
    assert json.loads(as_json.out)["policies"] == {"hop_limit": {"from": 100, "to": 7}}
    unknown = put(here, here.plan, "--retire", "proces", code=2)
    assert "no action 'proces'" in unknown
    shown = here.command("plan", "show", "--json")
    assert Plan.from_json(shown.out.encode()) == here.plan


def test_an_action_is_retired_and_dropped_when_nothing_is_left(install: Callable[..., Installation]) -> None:
    here = install("agents:Chats")
    put(here, here.plan)
    without = here.plan.without(["chat"])
    router = here.following_router()
    here.worker("w0", "ask", "chat", "answer")  # nobody runs tools: chats stay parked
    for number in range(5):
        here.emit(event("question", number=number, rounds=1), key=f"k{number}")
    here.flush()
    wait_for("they are parked", lambda: len(here.parked()) == 5, 60)
    assert "--retire chat" in put(here, without, code=2)
    router.terminate()
    router.wait()
    said = put(here, without, "--retire", "chat")
    assert "~ action chat: retired: continuations only" in said
    assert "do not show plan" in put(here, without, code=2)
    here.following_router()

    def all_show() -> bool:
        shown = here.command("plan", "show").out
        return "chat (retired" in shown and "not the plan in force" not in shown

    wait_for("all partitions show it, the idle ones too", all_show, 60)
    assert "'chat' still has 0 records not handled, 5 parked requests" in put(here, without, code=2)
    # What triggered it is answered, and what it parked goes on.
    here.emit(event("question", number=100, rounds=1), key="k100")
    here.flush()
    (refused,) = here.wait_read(here.topics.outputs, 1)
    assert refused.json["attributes"]["output"]["success"] is False
    here.worker("w1", "tool")
    outputs = [one.json["attributes"]["output"] for one in here.wait_read(here.topics.outputs, 6)]
    assert sorted(one["number"] for one in outputs if one["success"]) == list(range(5))
    assert logged(here, "w1", "worker_started")
    assert not logged(here, "w1", "plan_differs_from_routers")  # it is only retired there
    assert "- action chat" in put(here, without)
    wait_logged(here, "plan_swapped", 1, ("r0",))
    shown = here.command("plan", "show")
    assert "action   chat" not in shown.out


def test_what_is_completed_above_the_watermark_is_not_left_and_force_says_what_is_lost(
    install: Callable[..., Installation],
) -> None:
    here = install("agents:Orders", partitions=1)
    put(here, here.plan)
    here.following_router()
    worker = here.worker("w0", "process")
    here.emit(event("order", number=0, wait=3600))
    for number in range(1, 101):
        here.emit(event("order", number=number))
    here.flush()
    here.wait_read(here.topics.outputs, 100)
    without = here.plan.without(["process"])
    put(here, without, "--retire", "process")
    wait_logged(here, "plan_swapped", 1, ("r0",))
    left = "1 records not handled, 0 parked requests"

    def refused() -> bool:
        return f"'process' still has {left}" in put(here, without, code=2)

    wait_for("all but one are completed", refused, 30)
    worker.kill()  # it would drain for the slow one
    (lost,) = json.loads(put(here, without, "--force", "--json"))["lost"]
    assert lost.startswith(f"lost: action process: {left}")
    wait_logged(here, "plan_swapped", 2, ("r0",))


@pytest.mark.parametrize("change", ["add", "drop"])
def test_a_source_comes_and_goes_with_a_plan(install: Callable[..., Installation], change: str) -> None:
    here = install("agents:Orders", partitions=2)
    topic = f"{here.settings.namespace}-shop"
    here.create_topic(topic, 3)
    sources = ({"topic": topic, "type": "order"},)
    reads = Plan.model_validate({**here.plan.model_dump(), "sources": sources}).with_build()
    put(here, reads if change == "drop" else here.plan)
    here.following_router()
    here.wait_members(here.topics.router_group, 1)
    for partition in range(3):
        here.emit(f'{{"number": {partition}}}'.encode(), topic=topic, partition=partition)
    here.emit(event("order", number=10), partition=0)
    here.flush()
    wanted = [0, 1, 2, 10] if change == "drop" else [10]
    wait_for("the first plan routes", lambda: sorted(chain(*numbers(here, "process"))) == wanted)
    put(here, here.plan if change == "drop" else reads)
    wait_logged(here, "plan_swapped", 1, ("r0",))
    here.emit(b'{"number": 3}', topic=topic, partition=0)
    here.emit(event("order", number=11), partition=0)
    here.flush()
    wanted = [0, 1, 2, 10, 11] if change == "drop" else [0, 1, 2, 3, 10, 11]
    wait_for("the next plan routes", lambda: sorted(chain(*numbers(here, "process"))) == wanted)
    assert here.read(here.topics.dlq) == []
