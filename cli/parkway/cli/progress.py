"""A bar on standard error for what takes long, on a terminal only."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from parkway.cli.shown import one_line


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yields `advance(count)`. The bar goes away at the end: what was found is what is read."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task(one_line(what), total=total)
        yield lambda count: bar.advance(task, count)
