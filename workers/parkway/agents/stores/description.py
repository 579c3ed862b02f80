"""What stands in an agent's class for a store: where it is, and nothing opened."""

import os
import re
from abc import ABC, abstractmethod
from importlib.util import find_spec
from typing import ClassVar, Final

from parkway.agents.errors import AgentError
from parkway.agents.stores.base import DocumentStore

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class StoreDescription(ABC):
    """A store that Parkway brings. It needs the embeddings of what it stores; `open` makes it usable."""

    EXTRA: ClassVar[str]
    PACKAGES: ClassVar[tuple[str, ...]]

    def __call__(self) -> DocumentStore:
        """Open it, off the event loop. Connects to nothing yet. Raises AgentError, as `check` does."""
        self.check()
        return self.open()

    @abstractmethod
    def open(self) -> DocumentStore:
        """Make the store."""

    def check(self) -> None:
        """Raise AgentError for what this process lacks: a package, an environment variable."""
        missing = [name for name in self.PACKAGES if find_spec(name) is None]
        if missing:
            raise AgentError(f"{self!r} needs {', '.join(missing)}: pip install 'parkway[{self.EXTRA}]'")


def check_table(where: str, name: object, *, schema: bool = False) -> None:
    """Raise AgentError for what is no plain name of a table (`schema`: or `schema.table`)."""
    parts = name.split(".") if isinstance(name, str) else []
    if not (1 <= len(parts) <= (2 if schema else 1) and all(_NAME.fullmatch(part) for part in parts)):
        raise AgentError(f"{where}: {name!r}: letters, digits and _, at most 63, and no digit first")


def check_variable(where: str, name: object) -> None:
    """Raise AgentError for what is no name of an environment variable, without quoting it: it may be the secret."""
    if not isinstance(name, str) or not _VARIABLE.fullmatch(name):
        raise AgentError(f"{where}: the name of an environment variable that holds it, not the value itself")


def from_environment(who: object, variable: str) -> str:
    """The variable's value. Raises AgentError that names it."""
    value = os.environ.get(variable, "")
    if not value:
        raise AgentError(f"{who!r}: the environment variable {variable} is not set")
    return value
