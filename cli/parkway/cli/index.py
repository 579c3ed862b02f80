"""`parkway index`: fills a vector store of an agent with the texts of files."""

import asyncio
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from parkway.agents.agent import definition_of
from parkway.agents.errors import AgentError, did_you_mean
from parkway.agents.load import load_agent
from parkway.agents.vector_store import VectorStore
from parkway.cli.indexing import Counts, Indexer
from parkway.cli.options import AgentSource
from parkway.cli.text_files import Cutting, files_of
from parkway.schemas.errors import ParkwayError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


class IndexCallError(ParkwayError):
    """A call of `parkway index` that cannot be meant."""


@app.command()
def run(
    agent: AgentSource,
    store: Annotated[str, typer.Argument(metavar="STORE", help="The attribute of the VectorStore in the agent.")],
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Text, markdown and .jsonl files, folders, quoted globs.")
    ],
    size: Annotated[int, typer.Option("--chunk", min=50, metavar="N", help="Characters of a chunk at most.")] = 1500,
    overlap: Annotated[int, typer.Option(min=0, metavar="N", help="Characters that a chunk repeats.")] = 150,
    metadata: Annotated[
        list[str] | None,
        typer.Option("--metadata", "-m", metavar="NAME=VALUE", help="Put this on every document, such as lang=en."),
    ] = None,
    content_field: Annotated[
        str, typer.Option(metavar="NAME", help="The member of a .jsonl line that has the text.")
    ] = "content",
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON, and no progress.")] = False,
) -> None:
    """Cut files into chunks, embed them and put them into a vector store of the agent.

    Chunks have ids that stay (`docs/a.md#3`): the same call again replaces them, doubles nothing, and takes out what a
    file no longer has. Paths count from the current folder: run it from the same one. A line of a .jsonl file is a
    document: its members beside the text, `id` and `metadata` become metadata. Ctrl-C stops; the next call begins anew.

    For example:

      parkway index support:Support handbook docs
    """
    if overlap > size // 2:
        raise IndexCallError(f"--overlap {overlap}: at most half of --chunk ({size})")
    cutting = Cutting(size, overlap, content_field, _metadata(metadata or []))
    found = files_of(files)
    chosen = _store(agent, store)
    chosen.check()
    counts = Counts()
    console = Console(stderr=True)
    began = time.monotonic()
    stopped = False
    try:
        asyncio.run(_fill(chosen, found, cutting, counts, console, quiet=as_json))
    except KeyboardInterrupt:
        stopped = True
    except ParkwayError:
        raise
    except Exception as error:  # a provider's or a database's
        _report(store, counts, began, as_json=as_json)
        sys.stderr.write(f"error: {chosen!r}: {type(error).__name__}: {error}\n")
        raise typer.Exit(1) from error
    _report(store, counts, began, as_json=as_json)
    if counts.hidden:
        said = " and ".join(f"{name} = {json.dumps(value)}" for name, value in chosen.filter.items())
        sys.stderr.write(
            f"warning: {counts.hidden} documents do not fit the store's filter ({said}): no query finds them; give "
            "--metadata NAME=VALUE\n"
        )
    if stopped:
        sys.stderr.write("stopped: what is in stays in; the same call again puts in all\n")
        raise typer.Exit(130)


def _store(agent: str, name: str) -> VectorStore:
    definition = definition_of(load_agent(agent))
    stores = definition.of(VectorStore)
    if name not in stores:
        hint = did_you_mean(name, stores) or f"; there are: {', '.join(stores) or 'none'}"
        raise AgentError(f"{definition.agent} has no vector store {name!r}{hint}")
    return stores[name]


def _metadata(pairs: list[str]) -> dict[str, Any]:
    """NAME=VALUE, the value as JSON where it is (`year=2024`, `draft=true`), else as text."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not name or not equals:
            raise IndexCallError(f"--metadata {pair!r}: write NAME=VALUE, such as lang=en")
        try:
            found[name] = json.loads(text)
        except ValueError:
            found[name] = text
    return found


async def _fill(
    store: VectorStore, files: list[Path], cutting: Cutting, counts: Counts, console: Console, *, quiet: bool
) -> None:
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=quiet) as progress:
        bar = progress.add_task(f"{len(files)} files", total=sum(path.stat().st_size for path in files))

        def read(size: int) -> None:
            progress.update(bar, advance=size, description=f"{counts.documents:,} documents")

        try:
            await Indexer(store, cutting, counts, progress.console.print).run(files, read)
            read(0)
        finally:
            await store.close()


def _report(store: str, counts: Counts, began: float, *, as_json: bool) -> None:
    seconds = round(time.monotonic() - began, 2)
    if as_json:
        typer.echo(json.dumps({"store": store, **asdict(counts), "seconds": seconds}))
        return
    gone = f", {counts.deleted:,} old ones taken out" if counts.deleted else ""
    typer.echo(f"{store}: {counts.documents:,} documents of {counts.files:,} files{gone} ({seconds:.1f} s)")
