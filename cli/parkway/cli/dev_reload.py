"""Reload on save: which files matter, and the plan that they give now."""

import logging
import subprocess
import sys
import threading
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from parkway.schemas.plan import Plan, PlanError

# What agents are made of: code, and the tables, prompts and settings beside it.
_SUFFIXES: Final = (".py", ".yaml", ".yml", ".csv", ".toml")
_BUILD_SECONDS: Final = 120.0


def can_watch() -> bool:
    """Is watchfiles there?"""
    return find_spec("watchfiles") is not None


def folders_of(agent: str) -> list[Path]:
    """Where the agent's files are: the current folder, or where its module or YAML file is, if that is elsewhere."""
    here = Path.cwd()
    if agent.endswith((".yaml", ".yml")):
        return sorted({here, Path(agent).resolve().parent})
    module = sys.modules.get(agent.partition(":")[0])
    file = getattr(module, "__file__", None)
    if file is None or here in Path(file).resolve().parents:
        return [here]
    return [Path(file).resolve().parent]


def watch(folders: list[Path], ignored: Path, changed: Callable[[list[str]], None], stop: threading.Event) -> None:
    """Call `changed` with the names of files that were saved, until `stop`. For a thread of its own."""
    from watchfiles import DefaultFilter, watch  # noqa: PLC0415  an extra

    logging.getLogger("watchfiles").setLevel(logging.WARNING)

    class Sources(DefaultFilter):
        def __call__(self, change: object, path: str) -> bool:
            return path.endswith(_SUFFIXES) and super().__call__(change, path)  # type: ignore[arg-type]

    keep = Sources(ignore_paths=[ignored.resolve()])
    for changes in watch(*folders, watch_filter=keep, stop_event=stop, rust_timeout=500, raise_interrupt=False):
        changed(sorted({Path(path).name for _, path in changes}))


def build(agent: str) -> Plan:
    """The plan of the code as it is now, made by a new process. Raises PlanError with what it said."""
    command = [sys.executable, "-m", "parkway.cli", "plan", "build", agent]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_BUILD_SECONDS, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        raise PlanError(f"`parkway plan build {agent}` took longer than {_BUILD_SECONDS:g} s") from None
    if done.returncode:
        raise PlanError(done.stderr.decode("utf-8", "replace").strip().removeprefix("error: "))
    return Plan.from_json(done.stdout)
