"""What the agent owes for a delivery: its triggers once more, by hand, apart from the router and from CEL."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from examples.github_triage.demo.deliveries import Delivery

Owed = tuple[str, str]  # id of the delivery, name of an action


@dataclass(slots=True)
class Expected:
    """`routed`: records in an action's topic. `chats`: deliveries that ask the model. `outputs`: who puts what out."""

    routed: Counter[Owed] = field(default_factory=Counter)
    chats: set[str] = field(default_factory=set)
    outputs: Counter[Owed] = field(default_factory=Counter)


def expected_of(deliveries: Iterable[Delivery]) -> Expected:
    """Go through all deliveries with every condition."""
    expected = Expected()
    for delivery in deliveries:
        event, payload = delivery.event, delivery.payload
        if _is_new_issue(event, payload):
            _add_chat(expected, delivery.id, asks="triage-issue", tells="issue-triaged")
        if _is_small_change(event, payload):
            _add_chat(expected, delivery.id, asks="review-small-change", tells="change-reviewed")
        if _is_failed_check(event, payload):
            _add_output(expected, delivery.id, "report-failed-check")
        if _is_release(event, payload):
            _add_output(expected, delivery.id, "announce-release")
    return expected


def _add_chat(expected: Expected, delivery: str, *, asks: str, tells: str) -> None:
    expected.routed.update([(delivery, asks), (delivery, "chat"), (delivery, tells)])
    expected.chats.add(delivery)
    expected.outputs[delivery, tells] += 1


def _add_output(expected: Expected, delivery: str, action: str) -> None:
    expected.routed[delivery, action] += 1
    expected.outputs[delivery, action] += 1


def _is_new_issue(event: str, payload: dict[str, Any]) -> bool:
    return event == "issues" and payload.get("action") in ("opened", "reopened")


def _is_small_change(event: str, payload: dict[str, Any]) -> bool:
    if event != "pull_request":
        return False
    change = payload["pull_request"]
    news = payload.get("action") in ("opened", "reopened", "ready_for_review", "synchronize")
    return news and change.get("draft") is False and change["additions"] + change["deletions"] <= 50


def _is_failed_check(event: str, payload: dict[str, Any]) -> bool:
    if event not in ("check_run", "check_suite", "workflow_job", "workflow_run"):
        return False
    return payload.get("action") == "completed" and payload[event].get("conclusion") in ("failure", "timed_out")


def _is_release(event: str, payload: dict[str, Any]) -> bool:
    if event != "release" or payload.get("action") != "published":
        return False
    release = payload["release"]
    return release["draft"] is False and release["prerelease"] is False
