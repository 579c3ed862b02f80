"""Plain tables, for terminals and for `grep`."""

from collections.abc import Collection, Sequence

import typer

from parkway.cli.shown import one_line


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[str] = ()) -> None:
    """Columns as wide as what stands in them, two blanks between; those named in `right` end on one line."""
    lines = [[one_line(cell) for cell in line] for line in (header, *rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    for line in lines:
        cells = [
            cell.rjust(width) if name in right else cell.ljust(width)
            for name, cell, width in zip(header, line, widths, strict=True)
        ]
        typer.echo("  ".join(cells).rstrip())
