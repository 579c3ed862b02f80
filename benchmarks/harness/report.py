"""Tables on the terminal, and bars that are missed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median


@dataclass
class Bars:
    """What DESIGN section 9 asks for. `missed` fills while a benchmark runs."""

    missed: list[str] = field(default_factory=list)

    def at_least(self, what: str, ratios: Sequence[float], bar: float) -> None:
        """The median of the rounds counts; the range says how noisy they were."""
        self._tell(what, ratios, f"at least {bar:g}", kept=median(ratios) >= bar)

    def at_most(self, what: str, values: Sequence[float], bar: float, unit: str = "") -> None:
        self._tell(what, values, f"at most {bar:g}{unit}", kept=median(values) <= bar)

    def _tell(self, what: str, values: Sequence[float], bar: str, *, kept: bool) -> None:
        noise = f" ({min(values):.2f} to {max(values):.2f} in {len(values)} rounds)" if len(values) > 1 else ""
        print(f"{'ok    ' if kept else 'MISSED'} {what}: {median(values):.2f}{noise}; the bar is {bar}")
        if not kept:
            self.missed.append(what)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """In Markdown, so that it can go into the docs as it is."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    for row in [header, ["-" * width for width in widths], *rows]:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |")
