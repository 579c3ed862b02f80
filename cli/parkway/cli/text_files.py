"""Files with texts, and the documents in them: one after the other, never a whole file in memory."""

import glob
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from parkway.cli.chunks import chunks_of
from parkway.schemas import jsonio
from parkway.schemas.errors import ParkwayError
from parkway.schemas.events import Document

SUFFIXES: Final = (".md", ".markdown", ".txt", ".rst", ".jsonl")
_LINE: Final = 1_000_000  # characters that are read at once of a line without an end


class FileError(ParkwayError):
    """A file that is not there, or not what it should be."""


@dataclass(frozen=True, slots=True)
class Cutting:
    """How files become documents. `metadata` goes to every document, `content` is the member of a JSON line."""

    size: int
    overlap: int
    content: str
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """One text of a file, in its chunks: ids are `<base>#0`, `<base>#1` ... The next part begins when this is read."""

    base: str
    chunks: Iterator[Document]


def files_of(arguments: Sequence[str]) -> list[Path]:
    """Files, folders (the files in them with one of `SUFFIXES`, hidden ones apart) and globs; each file once.

    Raises FileError for an argument that leads to no file.
    """
    found: dict[Path, None] = {}
    for argument in arguments:
        path = Path(argument)
        if path.is_dir():
            files = _files_in(path)
            hint = f"no file with {', '.join(SUFFIXES)} in it"
        elif path.exists():
            files, hint = [path], ""
        else:
            files = sorted(each for each in map(Path, glob.glob(argument, recursive=True)) if each.is_file())  # noqa: PTH207  Path.glob takes no absolute one
            hint = "no such file or folder, and no file that it matches"
        if not files:
            raise FileError(f"{argument}: {hint}")
        found |= dict.fromkeys(files)
    return list(found)


def parts_of(path: Path, cutting: Cutting, read: Callable[[int], None]) -> Iterator[Part]:
    """The texts of a file: itself, or of a `.jsonl` each line. `read` is told of bytes. Raises FileError."""
    source = _source(path)
    lines = _lines(path, read)
    if path.suffix == ".jsonl":
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _json_part(source, number, line, cutting)
        return
    metadata = {"source": source, **cutting.metadata}
    markdown = path.suffix in (".md", ".markdown")
    yield Part(source, _documents(source, lines, metadata, cutting, markdown=markdown))


def _files_in(folder: Path) -> list[Path]:
    return sorted(
        each
        for each in folder.rglob("*")
        if each.suffix in SUFFIXES
        and each.is_file()
        and not any(part.startswith(".") for part in each.relative_to(folder).parts)
    )


def _source(path: Path) -> str:
    """The path as ids and metadata have it: seen from the current folder, where it lies below."""
    whole = path.absolute()
    here = Path.cwd()
    return (whole.relative_to(here) if whole.is_relative_to(here) else whole).as_posix()


def _lines(path: Path, read: Callable[[int], None]) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8-sig") as file:
            while line := file.readline(_LINE if path.suffix != ".jsonl" else -1):
                read(len(line.encode()))
                yield line
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: not UTF-8 text ({error.reason})") from None
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from None


def _json_part(source: str, number: int, line: str, cutting: Cutting) -> Part:
    where = f"{source}:{number}"
    try:
        body = jsonio.loads(line)
    except ValueError as error:
        raise FileError(f"{where}: {error}; a line is a JSON object, such as {{'content': ...}}") from None
    if not isinstance(body, dict) or not isinstance(body.get(cutting.content), str):
        raise FileError(f"{where}: no text in the member {cutting.content!r}; name another by --content-field")
    text = body.pop(cutting.content)
    given, nested = body.pop("id", None), body.pop("metadata", None) or {}
    if not isinstance(given, str | int | None) or isinstance(given, bool):
        raise FileError(f"{where}: id: a text or a whole number")
    if not isinstance(nested, dict):
        raise FileError(f"{where}: metadata: a JSON object")
    base = str(given) if given is not None else where
    metadata = {"source": source, **body, **nested, **cutting.metadata}
    return Part(base, _documents(base, text.splitlines(keepends=True), metadata, cutting, markdown=False))


def _documents(
    base: str, lines: Any, metadata: dict[str, Any], cutting: Cutting, *, markdown: bool
) -> Iterator[Document]:
    for number, chunk in enumerate(chunks_of(lines, cutting.size, cutting.overlap, markdown=markdown)):
        more: dict[str, Any] = {"chunk": number}
        if chunk.heading:
            more["heading"] = chunk.heading
        # With its heading a chunk is found by words that stand there only.
        content = f"{chunk.heading}\n\n{chunk.text}" if chunk.heading else chunk.text
        yield Document(id=f"{base}#{number}", content=content, metadata={**metadata, **more})
