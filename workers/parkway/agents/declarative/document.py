"""A YAML file as plain data, and the line where each of its members stands."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from parkway.agents.errors import AgentError

Place = tuple[str | int, ...]
"""The way to a member from the top, such as `("agents", 0, "actions", 2, "order")`."""

_TAG: Final = "tag:yaml.org,2002:"


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML has no types
    """Builds plain values only, and leaves a date the text that it is: JSON knows no dates."""

    def compose_mapping_node(self, anchor: Any) -> Any:
        """Names of members are text: `on` is no boolean there, as it is elsewhere in YAML 1.1."""
        node = super().compose_mapping_node(anchor)
        for key, _ in node.value:
            if key.tag == f"{_TAG}bool":
                key.tag = f"{_TAG}str"
        return node


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != f"{_TAG}timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@dataclass(frozen=True, slots=True)
class Document:
    """What a file says. `path` is as the caller wrote it: messages name it so."""

    path: Path
    data: Any
    lines: dict[Place, int]

    @property
    def folder(self) -> Path:
        """Where paths in the file begin."""
        return self.path.absolute().parent

    def at(self, place: Place) -> str:
        """`agent.yaml:12`, of that member or of what holds it."""
        while place and place not in self.lines:
            place = place[:-1]
        return f"{self.path}:{self.lines.get(place, 1)}"

    def value(self, place: Place) -> Any:
        """What stands there; None where nothing does."""
        found = self.data
        for step in place:
            try:
                found = found[step]
            except (KeyError, IndexError, TypeError):
                return None
        return found


def read_document(path: Path) -> Document:
    """Read a file of UTF-8. Raises AgentError for what is not there or no YAML, with its line."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise AgentError(f"agent {str(path)!r}: {reason}; looked in {Path.cwd()}") from error
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            raise AgentError(f"agent {str(path)!r}: the file is empty; it begins with `agents:`")
        lines = dict(_lines(path, node, (), ()))
        data = loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}:{mark.column + 1}" if mark is not None else ""
        hint = "; quote a text that holds ': ' or begins with one of {[&*!|>%@`" if mark is not None else ""
        raise AgentError(f"{path}{line}: {error.problem or error}{hint}") from error
    except yaml.YAMLError as error:  # a character that no YAML may hold
        raise AgentError(f"{path}: {error}") from error
    finally:
        loader.dispose()
    return Document(path, data, lines)


def _lines(path: Path, node: yaml.Node, place: Place, above: tuple[int, ...]) -> Iterator[tuple[Place, int]]:
    """Places and lines of a node and of all in it; a member counts from its name on."""
    if id(node) in above:
        raise AgentError(f"{path}:{node.start_mark.line + 1}: an alias (*) of what it stands in")
    if not place:
        yield place, node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        seen: set[Hashable] = set()
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.value in seen and key.value != "<<":
                raise AgentError(f"{path}:{line}: {key.value!r} stands there twice")
            seen.add(key.value if isinstance(key.value, str) else id(key))
            here = (*place, str(key.value))
            yield here, line
            yield from _lines(path, value, here, (*above, id(node)))
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            yield (*place, number), value.start_mark.line + 1
            yield from _lines(path, value, (*place, number), (*above, id(node)))
