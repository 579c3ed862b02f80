"""What the model may look up. The recorded webhooks stand in for GitHub's API: real answers, and no network."""

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from parkway.agents import tool

ARCHIVE: Final = Path(__file__).with_name("github-webhooks.jsonl")


@tool
def labels_in_use(repository: str) -> list[str]:
    """The labels that issues and pull requests of a repository carry, the most used one first.

    Args:
        repository: its full name, such as octocat/hello-world

    """
    used: Counter[str] = Counter()
    for payload in _payloads_of(repository):
        for kind in ("issue", "pull_request"):
            used.update(label["name"] for label in (payload.get(kind) or {}).get("labels", []))
    return [label for label, _ in used.most_common()]


@tool
def activity_of(login: str) -> dict[str, int]:
    """How often a user has done what, by the kind of webhook that it caused.

    Args:
        login: the user's login, such as octocat

    """
    return dict(Counter(one["event"] for one in _archive() if _sender(one["payload"]) == login))


@tool
def maintainers_of(repository: str) -> list[str]:
    """The logins that act most in a repository, its owner first.

    Args:
        repository: its full name, such as octocat/hello-world

    """
    owner = repository.partition("/")[0]
    active = Counter(sender for payload in _payloads_of(repository) if (sender := _sender(payload)))
    return [owner, *(login for login, _ in active.most_common() if login != owner)]


@cache
def _archive() -> list[dict[str, Any]]:
    with ARCHIVE.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _payloads_of(repository: str) -> Iterator[dict[str, Any]]:
    for one in _archive():
        payload: dict[str, Any] = one["payload"]
        if payload.get("repository", {}).get("full_name") == repository:
            yield payload


def _sender(payload: dict[str, Any]) -> str | None:
    sender = payload.get("sender")
    return sender["login"] if sender else None
