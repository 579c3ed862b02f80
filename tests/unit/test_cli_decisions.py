"""`parkway plan build` of an agent with decision tables."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from parkway.cli.main import app
from parkway.schemas.errors import ParkwayError
from parkway.schemas.plan import Plan

AGENT = """\
from parkway.agents import Agent, DecisionTable

class Routing(Agent):
    queue = DecisionTable([{"when": "n > 1", "q": "a"}, {"when": "%s", "q": "b"}])
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_row_that_another_one_shadows_is_a_warning(folder: Path) -> None:
    (folder / "shadowed_table.py").write_text(AGENT % "n > 1 && m == 2")
    result = CliRunner().invoke(app, ["plan", "build", "shadowed_table:Routing"])
    assert result.exit_code == 0
    assert "warning: decision model 'queue': table: row 2: it is never asked for: row 1 hits" in result.stderr
    assert [each.name for each in Plan.from_json(result.stdout_bytes).actions] == ["decision"]


def test_a_row_that_does_not_compile_is_named(folder: Path) -> None:
    (folder / "broken_table.py").write_text(AGENT % "n >")
    result = CliRunner().invoke(app, ["plan", "build", "broken_table:Routing"])
    assert isinstance(result.exception, ParkwayError)
    assert "'broken_table:Routing': DecisionTable, row 2: when='n >'" in str(result.exception)
