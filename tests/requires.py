"""What a test needs beyond Python and the broker that pip installs, and how to see whether it is there.

`@pytest.mark.requires("docker")`: where it is missing the test is skipped with the reason. Under
`PARKWAY_REQUIRE=docker,helm`, as CI sets it, that is a failure.
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from typing import Final

import pytest

_ANSWER_SECONDS: Final = 20


def check(item: pytest.Item) -> None:
    """Skip or fail a test whose needs are not met."""
    for mark in item.iter_markers("requires"):
        for need in mark.args:
            reason = _missing(need)
            if reason is None:
                continue
            if need in os.environ.get("PARKWAY_REQUIRE", "").split(","):
                pytest.fail(f"{reason} (PARKWAY_REQUIRE has {need})", pytrace=False)
            pytest.skip(reason)


def _docker() -> str | None:
    return _program("docker", "version") or _program("docker", "compose", "version")


def _helm() -> str | None:
    return _program("helm", "version")


def _promtool() -> str | None:
    return _program("promtool", "--version")


def _program(*command: str) -> str | None:
    """Run it; why it is of no use, if it is not."""
    name = command[0]
    if shutil.which(name) is None:
        return f"{name} is not installed"
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_ANSWER_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"`{' '.join(command)}` gives no answer"
    if done.returncode == 0:
        return None
    said = (done.stderr or done.stdout).strip().splitlines()
    return f"`{' '.join(command)}` fails: {said[-1] if said else f'exit code {done.returncode}'}"


_NEEDS: Final[dict[str, Callable[[], str | None]]] = {"docker": _docker, "helm": _helm, "promtool": _promtool}


@cache
def _missing(need: str) -> str | None:
    return _NEEDS[need]()
