"""`parkway index`: chunks under ids that stay, one batch at a time."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from parkway.agents import Document, HashingEmbedder, SqliteVec, VectorStore
from parkway.cli.chunks import chunks_of
from parkway.cli.main import app
from parkway.schemas.errors import ParkwayError

AGENT = """
import asyncio, os
from parkway.agents import Agent, HashingEmbedder, PgVector, Retry, SqliteVec, VectorStore

class Slow(HashingEmbedder):
    async def embed(self, inputs, *, input_type, settings=None):
        await asyncio.sleep(float(os.environ.get("SLOW", "0")))
        with open("calls", "a") as file:
            file.write(f"{len(list(inputs))}\\n")
        return await super().embed(inputs, input_type=input_type, settings=settings)

class Down(HashingEmbedder):
    async def embed(self, inputs, *, input_type, settings=None):
        raise ConnectionError("no route to the model")

class Rag(Agent):
    docs = VectorStore(SqliteVec("docs.db"), embedder=Slow(64), batch=2)
    english = VectorStore(SqliteVec("english.db"), embedder=Slow(64), filter={"lang": "en"})
    down = VectorStore(SqliteVec("down.db"), embedder=Down(), retry=Retry(attempts=3, backoff=0.01))
    far = VectorStore(PgVector("docs", dsn_env="NO_SUCH_DSN"), embedder=Slow(64))
"""


class Folder:
    """A folder with an agent in it, which is the current one."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, text: str) -> None:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def index(self, *arguments: str, store: str = "docs", code: int = 0) -> Any:
        result = CliRunner().invoke(app, ["index", "rag_agent:Rag", store, *arguments, "--json"])
        if isinstance(result.exception, ParkwayError):
            raise result.exception
        assert result.exit_code == code, (result.output, result.exception)
        self.stderr = result.stderr
        return json.loads(result.stdout)

    def documents(self, name: str = "docs.db") -> dict[str, Document]:
        async def all_of() -> list[Document]:
            store = VectorStore(SqliteVec(self.path / name), embedder=HashingEmbedder(64))
            try:
                return await store.query("anything", max_results=10_000)
            finally:
                await store.close()

        return {str(each.id): each for each in asyncio.run(all_of())}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "rag_agent", raising=False)
    here = Folder(tmp_path)
    here.write("rag_agent.py", AGENT)
    return here


def test_markdown_is_cut_by_its_sections(folder: Folder) -> None:
    folder.write("texts/a.md", "# Parkway\n\nIntro.\n\n## Workers\n\nThey run.\n\n```sh\n# no heading\n\nls\n```\n")
    said = folder.index("texts")
    found = folder.documents()
    assert list(found) == ["texts/a.md#0", "texts/a.md#1"] or set(found) == {"texts/a.md#0", "texts/a.md#1"}
    assert found["texts/a.md#0"].content == "Parkway\n\nIntro."
    assert found["texts/a.md#0"].metadata == {"source": "texts/a.md", "chunk": 0, "heading": "Parkway"}
    assert found["texts/a.md#1"].content == "Parkway > Workers\n\nThey run.\n\n```sh\n# no heading\n\nls\n```"
    assert (said["store"], said["files"], said["documents"], said["deleted"]) == ("docs", 1, 2, 0)


def test_twice_doubles_nothing_and_what_is_gone_is_taken_out(folder: Folder) -> None:
    folder.write("a.txt", "\n\n".join(f"paragraph {n} " + "x" * 80 for n in range(400)))
    first = folder.index("a.txt", "--chunk", "100", "--overlap", "0")
    assert first["documents"] == 400
    assert folder.index("a.txt", "--chunk", "100", "--overlap", "0")["deleted"] == 0
    assert len(folder.documents()) == 400
    folder.write("a.txt", "short now")
    again = folder.index("a.txt")
    assert (again["documents"], again["deleted"]) == (1, 399)
    assert [each.content for each in folder.documents().values()] == ["short now"]
    folder.write("a.txt", "")
    assert folder.index("a.txt")["deleted"] == 1
    assert folder.documents() == {}


def test_json_lines_are_documents_with_their_own_ids_and_metadata(folder: Folder) -> None:
    lines = [
        {"id": 7, "content": "seven", "lang": "en", "metadata": {"tags": ["a"]}},
        {"content": "no id"},
        {"id": "big", "content": "word " * 100},
    ]
    folder.write("d.jsonl", "\n".join(map(json.dumps, lines)) + "\n\n")
    folder.index("d.jsonl", "--chunk", "200", "--overlap", "0", "-m", "year=2024", "-m", "team=ops")
    found = folder.documents()
    assert set(found) == {"7#0", "d.jsonl:2#0", "big#0", "big#1", "big#2"}
    assert found["7#0"].metadata == {
        "source": "d.jsonl",
        "lang": "en",
        "tags": ["a"],
        "year": 2024,
        "team": "ops",
        "chunk": 0,
    }


def test_folders_globs_and_files_are_taken_once(folder: Folder) -> None:
    for name in ("docs/a.md", "docs/sub/b.txt", "docs/.git/c.md", "docs/d.png", "docs/e.py"):
        folder.write(name, f"text of {name}")
    folder.index("docs", "docs/*.md", "docs/e.py")
    assert set(folder.documents()) == {"docs/a.md#0", "docs/sub/b.txt#0", "docs/e.py#0"}


def test_documents_are_embedded_by_batches(folder: Folder) -> None:
    folder.write("a.txt", "\n\n".join("x" * 90 for _ in range(5)))
    folder.index("a.txt", "--chunk", "100", "--overlap", "0")
    assert (folder.path / "calls").read_text().split() == ["2", "2", "1"]


def test_documents_that_the_filter_hides_are_told(folder: Folder) -> None:
    folder.write("a.txt", "text")
    assert folder.index("a.txt", store="english")["hidden"] == 1
    assert 'do not fit the store\'s filter (lang = "en")' in folder.stderr
    assert folder.index("a.txt", "-m", "lang=en", store="english")["hidden"] == 0


def test_a_model_that_stays_away_ends_it_after_the_retries(folder: Folder) -> None:
    folder.write("a.txt", "text")
    assert folder.index("a.txt", store="down", code=1)["documents"] == 0
    assert folder.stderr.count("again in") == 2
    assert "ConnectionError: no route to the model" in folder.stderr


@pytest.mark.parametrize(
    ("arguments", "store", "said"),
    [
        (["a.txt"], "dcos", r"Rag has no vector store 'dcos' \(did you mean docs\?\)"),
        (["a.txt"], "far", "environment variable NO_SUCH_DSN is not set"),
        (["none.txt"], "docs", "none.txt: no such file or folder"),
        (["empty"], "docs", "empty: no file with .md"),
        (["binary.txt"], "docs", "binary.txt: not UTF-8 text"),
        (["bad.jsonl"], "docs", "bad.jsonl:1: no text in the member 'content'"),
        (["worse.jsonl"], "docs", "worse.jsonl:2: "),
        (["a.txt", "-m", "lang"], "docs", "write NAME=VALUE"),
        (["a.txt", "--chunk", "100", "--overlap", "90"], "docs", "at most half"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(folder: Folder, arguments: list[str], store: str, said: str) -> None:
    folder.write("a.txt", "text")
    folder.write("bad.jsonl", '{"text": "x"}\n')
    folder.write("worse.jsonl", '{"content": "x"}\n{')
    (folder.path / "binary.txt").write_bytes(b"\xff\xfe\x00")
    (folder.path / "empty").mkdir()
    with pytest.raises(ParkwayError, match=said):
        folder.index(*arguments, store=store)


def test_a_changed_embedder_is_told(folder: Folder) -> None:
    folder.write("a.txt", "text")
    folder.index("a.txt")
    folder.write("rag_agent.py", AGENT.replace("Slow(64)", "Slow(32)"))
    sys.modules.pop("rag_agent")
    with pytest.raises(ParkwayError, match="holds embeddings of 64 dimensions, and the embedder gives 32"):
        folder.index("a.txt")


def test_ctrl_c_stops_it_and_the_next_call_puts_in_all(folder: Folder) -> None:
    folder.write("a.txt", "\n\n".join(f"{n} " + "x" * 90 for n in range(9)))
    command = [sys.executable, "-m", "parkway.cli", "index", "rag_agent:Rag", "docs", "a.txt", "--chunk", "100"]
    process = subprocess.Popen(
        [*command, "--overlap", "0"], env={**os.environ, "SLOW": "0.3"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    calls = folder.path / "calls"
    # The second call begins when what the first one embedded is in.
    wait_until(lambda: calls.exists() and len(calls.read_text().split()) >= 2, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert b"stopped: what is in stays in" in err
    assert b"Traceback" not in err
    assert b"documents of 0 files" in out
    assert 2 <= len(folder.documents()) < 9
    folder.index("a.txt", "--chunk", "100", "--overlap", "0")
    assert len(folder.documents()) == 9


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)


# -- chunks


def texts(text: str, size: int, overlap: int = 0, *, markdown: bool = False) -> list[str]:
    return [chunk.text for chunk in chunks_of(text.splitlines(keepends=True), size, overlap, markdown=markdown)]


def test_paragraphs_stay_together_as_far_as_they_fit() -> None:
    assert texts("aa bb\n\ncc\n\ndd", 10) == ["aa bb\n\ncc", "dd"]


def test_a_long_paragraph_is_cut_behind_a_sentence_or_a_word() -> None:
    assert texts("One two three. Four five six seven", 20) == ["One two three.", "Four five six seven"]
    assert texts("onetwothree fourfivesix seven", 20) == ["onetwothree", "fourfivesix seven"]
    assert texts("x" * 25, 10) == ["x" * 10, "x" * 10, "x" * 5]


def test_a_chunk_begins_with_the_end_of_the_one_before() -> None:
    assert texts("one two three\n\nfour five\n\nsix", 16, 7) == ["one two three", "three\n\nfour five", "five\n\nsix"]


def test_sections_do_not_overlap_and_levels_nest() -> None:
    text = "# A\n\none two\n\n### C\n\nthree\n\n## B\nfour\n# D #\nfive\n#no heading\n"
    found = list(chunks_of(text.splitlines(keepends=True), 50, 10, markdown=True))
    assert found == [("one two", "A"), ("three", "A > C"), ("four", "A > B"), ("five\n#no heading", "D")]


@given(st.text(st.sampled_from("ab .\n#`é"), max_size=400), st.integers(4, 40), st.integers(0, 20), st.booleans())
def test_chunks_are_short_and_lose_no_word(text: str, size: int, overlap: int, markdown: bool) -> None:
    found = list(chunks_of(text.splitlines(keepends=True), size, min(overlap, size // 2), markdown=markdown))
    assert all(0 < len(chunk.text) <= size for chunk in found)
    assert all(chunk.text.strip() for chunk in found)
    if not overlap:
        whole = "".join(chunk.text + chunk.heading * markdown for chunk in found)
        left = text if not markdown else "".join(line for line in text.splitlines() if not line.startswith("#"))
        assert sum(map(str.isalnum, whole)) >= sum(map(str.isalnum, left))
