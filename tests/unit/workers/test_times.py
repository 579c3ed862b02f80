"""Decisions by the time ask workers/times.py, or a test of an agent could not move the clock."""

import ast
import time
from pathlib import Path

import pytest

from parkway.workers import times

WORKERS = Path(__file__).parents[3] / "workers/parkway/workers"
# What waits for a real broker, on threads of its own, or only measures.
REAL = {"consumer_thread.py", "compacted.py", "kept.py", "left.py", "restore.py", "times.py", "vitals.py"}
FILES = sorted(path for path in WORKERS.rglob("*.py") if path.name not in REAL)


def clocks_read(source: str) -> list[str]:
    return [
        f"time.{node.attr} at line {node.lineno}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "time"
        and node.attr in {"time", "monotonic", "time_ns", "monotonic_ns"}
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_decision_reads_the_machine_s_clock_itself(path):
    assert clocks_read(path.read_text()) == [], "use parkway.workers.times: now_ms, now, monotonic"


def test_the_check_sees_what_it_looks_for():
    found = clocks_read("import time\nx = time.time() + 1\ny = time.perf_counter()\nz = clock or time.monotonic")
    assert sorted(found) == ["time.monotonic at line 4", "time.time at line 2"]


def test_without_a_test_they_are_the_machine_s():
    assert abs(times.now_ms() - time.time() * 1000) < 1_000
    assert abs(times.now() - time.time()) < 1
    assert abs(times.monotonic() - time.monotonic()) < 1
