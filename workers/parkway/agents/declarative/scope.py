"""What an agent of a file can name: its own resources, and those that stand beside `agents`."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parkway.agents.declarative.document import Document, Place
from parkway.agents.declarative.references import resolve, resolve_exception
from parkway.agents.declarative.spec import RESOURCES, AgentSpec, DocumentSpec, Resources
from parkway.agents.errors import AgentError, did_you_mean


@dataclass(frozen=True, slots=True)
class Entry:
    """A resource as the file has it; `where` begins messages about it: `agent.yaml:12: prompts[triage]`."""

    section: str
    spec: Any
    where: str


class Scope:
    """Of one agent. Raises AgentError for two resources of one name."""

    def __init__(self, document: Document, whole: DocumentSpec, agent: AgentSpec, place: Place) -> None:
        self.document = document
        self.entries: dict[str, dict[str, Entry]] = {section: {} for section in RESOURCES}
        for section in RESOURCES:
            own = self._entries(agent, section, place)
            # The agent's own one stands before what all of them share.
            self.entries[section] = self._entries(whole, section, ()) | own
        seen: dict[str, Entry] = {}
        for entry in self:
            if entry.section == "tools":
                continue  # they are functions, not attributes of the agent
            other = seen.setdefault(entry.spec.name, entry)
            if other is not entry:
                raise AgentError(f"{entry.where}: {other.where} has this name; give it another one")

    def __iter__(self) -> Iterator[Entry]:
        for section in self.entries.values():
            yield from section.values()

    def names(self, *sections: str) -> list[str]:
        """The names in these sections."""
        return [name for section in sections for name in self.entries[section]]

    def entry(self, where: str, name: str, *sections: str) -> Entry:
        """The resource of that name in one of the sections. Raises AgentError that begins with `where`."""
        for section in sections:
            if name in self.entries[section]:
                return self.entries[section][name]
        raise AgentError(f"{where}: {self.unknown(name, *sections)}")

    def unknown(self, name: str, *sections: str) -> str:
        """What to say of a name that is in none of the sections."""
        known = self.names(*sections)
        hint = did_you_mean(name, known) or f"; there are: {', '.join(known) or 'none'}"
        return f"nothing in {' or '.join(sections)} is called {name!r}{hint}"

    def resolve(self, where: str, reference: str) -> Any:
        """Import `module:name`, also from the file's folder. Raises AgentError."""
        return resolve(where, reference, self.document.folder)

    def exceptions(self, where: str, names: Iterable[str]) -> tuple[type[Exception], ...]:
        """Classes of exceptions by their names. Raises AgentError."""
        return tuple(resolve_exception(where, name, self.document.folder) for name in names)

    def path(self, text: str) -> Path:
        """A path of the file's."""
        return self.document.folder / text

    def _entries(self, holder: Resources, section: str, place: Place) -> dict[str, Entry]:
        found: dict[str, Entry] = {}
        for number, spec in enumerate(getattr(holder, section)):
            where = f"{self.document.at((*place, section, number))}: {section}[{spec.name}]"
            if spec.name in found:
                raise AgentError(f"{where}: {found[spec.name].where} has this name; give it another one")
            found[spec.name] = Entry(section, spec, where)
        return found


@contextmanager
def telling(where: str) -> Iterator[None]:
    """Let errors of resources begin with the place in the file that they are about. Raises AgentError."""
    try:
        yield
    except (AgentError, ValueError, TypeError, OSError) as error:
        text = str(error)
        raise AgentError(text if text.startswith(where) else f"{where}: {text}") from error
