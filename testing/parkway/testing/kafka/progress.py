"""Progress on stderr: one line that is rewritten in a terminal, a few plain lines elsewhere."""

import sys

_PLAIN_LINES = 4


class Progress:
    """Counts finished files of a known total."""

    def __init__(self, title: str, total: int) -> None:
        self.title = title
        self._total = total
        self._done = 0
        self._terminal = sys.stderr.isatty()

    def say(self, text: str) -> None:
        self._write(f"{self.title}: {text}", end="\n")

    def step(self) -> None:
        """One more file is done."""
        self._done += 1
        if self._terminal:
            end = "\n" if self._done == self._total else ""
            self._write(f"\r{self.title}: {self._done}/{self._total} files", end=end)
        elif self._done * _PLAIN_LINES // self._total > (self._done - 1) * _PLAIN_LINES // self._total:
            self.say(f"{self._done}/{self._total} files")

    @staticmethod
    def _write(text: str, *, end: str) -> None:
        sys.stderr.write(text + end)
        sys.stderr.flush()
