"""Ctrl-C before a command has begun: no traceback, 130."""

import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

# As libraries do it, an interrupt that comes in the middle of their import turns into something else.
SLOW_MODULE = """
import pathlib, time
pathlib.Path("imported").touch()
try:
    time.sleep(120)
except BaseException as error:
    raise ImportError("half of it is there") from error
"""
SLOW_AGENT = """
import pathlib, time
pathlib.Path("imported").touch()
time.sleep(120)
"""


def script() -> list[str]:
    """What the `parkway` script that pip writes does."""
    module, _, name = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["parkway"].partition(
        ":"
    )
    return [sys.executable, "-c", f"import sys; sys.path.insert(0, ''); from {module} import {name}; {name}()"]


def interrupted(folder: Path, command: list[str], *, ignored: bool = False) -> subprocess.CompletedProcess[str]:
    """Start it, and press Ctrl-C once the slow module is being imported."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.default_int_handler)
    try:  # it inherits what is ignored
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        try:
            end = time.monotonic() + 60
            while not (folder / "imported").exists():
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < end, "it imports nothing"
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=2 if ignored else 30)
        finally:
            process.kill()
    return subprocess.CompletedProcess(command, process.returncode, out, err)


@pytest.mark.parametrize(
    ("module", "command"),
    [
        ("typer", ["--version"]),  # imported by the command line itself
        ("typer", ["worker", "x:X"]),
        ("pydantic_ai", ["worker", "x:X"]),  # and what only a command needs
        ("pydantic_ai", ["plan", "build", "x:X"]),
    ],
)
@pytest.mark.parametrize("way", ["module", "script"])
def test_ctrl_c_while_modules_are_imported_is_quiet(tmp_path: Path, module: str, command: list[str], way: str) -> None:
    (tmp_path / f"{module}.py").write_text(SLOW_MODULE)
    program = [sys.executable, "-m", "parkway.cli"] if way == "module" else script()
    done = interrupted(tmp_path, [*program, *command])
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_ctrl_c_while_an_agent_is_imported_is_quiet(tmp_path: Path) -> None:
    (tmp_path / "slow_agent.py").write_text(SLOW_AGENT)
    done = interrupted(tmp_path, [sys.executable, "-m", "parkway.cli", "plan", "build", "slow_agent:Agent"])
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_what_a_shell_runs_in_the_background_is_not_ended_by_it(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text(SLOW_MODULE)
    with pytest.raises(subprocess.TimeoutExpired):
        interrupted(tmp_path, [sys.executable, "-m", "parkway.cli", "--version"], ignored=True)


def test_the_first_process_of_a_container_ends_at_sigterm() -> None:
    """For it the kernel's default is to ignore the signal; here it is seen that there is a handler."""
    code = "import os; os.getpid = lambda: 1; from parkway.cli.entry import main; main()"
    waiting = [sys.executable, "-c", code, "router", "--bootstrap-servers", "127.0.0.1:1"]
    with subprocess.Popen(waiting, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            assert "no_kafka_broker_answers_yet" in process.stderr.readline()
            process.terminate()
            assert process.wait(30) == 128 + signal.SIGTERM
        finally:
            process.kill()
