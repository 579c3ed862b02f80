"""The project that `parkway init` writes, run as a newcomer runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from parkway.cli.init import InitError
from parkway.cli.main import app


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PARKWAY_MODEL"}
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_the_project_builds_a_plan_and_passes_its_own_test(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    said = CliRunner().invoke(app, ["init", str(folder)])
    assert said.exit_code == 0, said.output
    assert sorted(path.name for path in folder.iterdir()) == ["support.py", "test_support.py", "tickets.jsonl"]
    assert f"cd {folder}" in said.output
    built = run(folder, "parkway.cli", "plan", "build", "support:Support")
    assert (built.returncode, built.stderr) == (0, "")
    names = [action["name"] for action in json.loads(built.stdout)["actions"]]
    assert names[:3] == ["ask", "alert", "answer"]
    tested = run(folder, "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
    assert tested.returncode == 0, tested.stdout
    assert "3 passed" in tested.stdout


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "tickets.jsonl").write_text("mine")
    said = CliRunner().invoke(app, ["init", str(tmp_path)])
    assert isinstance(said.exception, InitError)
    assert "tickets.jsonl is there already" in str(said.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["tickets.jsonl"]
    assert (tmp_path / "tickets.jsonl").read_text() == "mine"


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InitError, match="file/below"):
        CliRunner().invoke(app, ["init", str(tmp_path / "file" / "below")], catch_exceptions=False)
