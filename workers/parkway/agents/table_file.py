"""The files that a decision table can be read from: CSV for those who like spreadsheets, YAML for the rest."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from parkway.agents.decision_rules import DEFAULT
from parkway.agents.errors import AgentError, did_you_mean
from parkway.schemas.decision_questions import Noul, Question, Score
from parkway.schemas.json_form import short

_WHEN: Final = "when"
_WORDS: Final = {"true": True, "yes": True, "false": False, "no": False}
_MEMBERS: Final = ("questions", "rows", "default", "hit")


@dataclass(frozen=True, slots=True)
class TableFile:
    """What a file says; nothing of it is compiled. `places` name the rows in messages."""

    path: Path
    rows: list[Mapping[str, Any]]
    places: list[str]
    questions: Mapping[str, Any] | None = None
    default: Any = None
    hit: Any = None


def read_table(path: Path, questions: Mapping[str, Question] | None = None) -> TableFile:
    """Read a `.csv`, `.yaml` or `.yml` file. Raises AgentError that names the file, the place and the reason."""
    readers = {".csv": _read_csv, ".yaml": _read_yaml, ".yml": _read_yaml}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise AgentError(f"decision table {path}: a file that ends in {', '.join(readers)}")
    try:
        text = path.read_text(encoding="utf-8-sig")  # spreadsheets write the mark
    except (OSError, UnicodeDecodeError) as error:
        way_out = "" if path.is_absolute() else "; write Path(__file__).with_name(...): a worker is started anywhere"
        raise AgentError(f"decision table {path.absolute()}: {error}{way_out}") from error
    return reader(path, text, questions)


def _read_csv(path: Path, text: str, questions: Mapping[str, Question] | None) -> TableFile:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    lines: list[tuple[int, list[str]]] = []
    begins = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                lines.append((begins, [cell.strip() for cell in cells]))
            begins = reader.line_num + 1
    except csv.Error as error:
        raise AgentError(f"decision table {path}, line {reader.line_num}: {error}") from error
    if not lines:
        raise AgentError(f"decision table {path}: it is empty; its first line names the columns, such as when,queue")
    columns = lines[0][1]
    _check_columns(path, columns)
    rows: list[Mapping[str, str]] = []
    places: list[str] = []
    for number, cells in lines[1:]:
        if len(cells) != len(columns):
            hint = "; quote a cell that has a comma" if len(cells) > len(columns) else ""
            raise AgentError(
                f"decision table {path}, line {number}: {len(cells)} cells for {len(columns)} columns{hint}"
            )
        if rows and rows[-1][_WHEN] == DEFAULT:
            raise AgentError(f"decision table {path}, line {number}: the row {DEFAULT!r} is the last one")
        rows.append(dict(zip(columns, cells, strict=True)))
        places.append(f"line {number}")
    typed = _typed(rows, columns, questions)
    default = None
    if typed and typed[-1][_WHEN] == DEFAULT:
        default = {name: value for name, value in typed.pop().items() if name != _WHEN}
        places.pop()
    return TableFile(path, typed, places, questions, default)


def _check_columns(path: Path, columns: list[str]) -> None:
    if _WHEN not in columns:
        raise AgentError(
            f"decision table {path}: no column {_WHEN!r}, only {', '.join(columns)}; its cells are conditions"
        )
    for column in columns:
        if not column or columns.count(column) > 1:
            raise AgentError(f"decision table {path}: column {column!r}: every column has a name of its own")


def _typed(
    rows: Sequence[Mapping[str, str]], columns: Sequence[str], questions: Mapping[str, Question] | None
) -> list[Mapping[str, Any]]:
    """Cells as their question asks for them; without one, as yes/no where all of a column are. Empty: None."""
    readers: dict[str, Callable[[str], Any]] = {}
    for column in columns:
        question = (questions or {}).get(column)
        cells = [row[column] for row in rows]
        is_yes_no = question is None and all(cell.lower() in _WORDS for cell in cells)
        if column != _WHEN and (is_yes_no or isinstance(question, Noul)):
            readers[column] = lambda cell: _WORDS.get(cell.lower(), cell)
        elif isinstance(question, Score):
            readers[column] = _number
    return [{name: readers.get(name, str)(cell) if cell else None for name, cell in row.items()} for row in rows]


def _number(cell: str) -> Any:
    try:
        return float(cell) if "." in cell else int(cell)
    except ValueError:
        return cell


def _read_yaml(path: Path, text: str, declared: Mapping[str, Question] | None) -> TableFile:
    import yaml  # noqa: PLC0415  only who has such a file needs it

    try:
        body = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise AgentError(f"decision table {path}: {error}") from error
    if not isinstance(body, dict):
        raise AgentError(f"decision table {path}: a map with {', '.join(_MEMBERS)}, got {short(body)}")
    for member in body:
        if member not in _MEMBERS:
            hint = did_you_mean(str(member), _MEMBERS) or f"; known: {', '.join(_MEMBERS)}"
            raise AgentError(f"decision table {path}: unknown member {short(member)}{hint}")
    rows = body.get("rows")
    if not isinstance(rows, list):
        raise AgentError(f"decision table {path}: rows: a list of maps with 'when' and the answers, got {short(rows)}")
    questions = body.get("questions")
    if questions is not None and declared is not None:
        raise AgentError(f"decision table {path}: questions stand in the file and in the code; keep one of them")
    places = [f"row {number}" for number in range(1, len(rows) + 1)]
    return TableFile(
        path, rows, places, declared if questions is None else questions, body.get("default"), body.get("hit")
    )
