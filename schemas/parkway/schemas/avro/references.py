"""Schemas that refer to those of other subjects of a registry, as one: a definition stands where it is used first."""

import json
from collections.abc import Iterable
from typing import Any, Final

_NAMED: Final = frozenset({"record", "error", "enum", "fixed"})


def inlined(text: str, referenced: Iterable[str]) -> str:
    """`text` with the definitions of the schemas that it refers to, all of them in `referenced`, in Avro's JSON.

    Names that nobody defines, and a text that is no schema, are left for the parser to refuse.
    """
    try:
        return _inlined(text, referenced)
    except (ValueError, KeyError, TypeError, RecursionError):
        return text


def _inlined(text: str, referenced: Iterable[str]) -> str:
    definitions: dict[str, Any] = {}
    for one in referenced:
        schema = json.loads(one)
        for each in schema if isinstance(schema, list) else [schema]:
            if isinstance(each, dict) and "name" in each:
                definitions[_full_name(each, "")] = each
    return json.dumps(_Inliner(definitions).written(json.loads(text), ""))


class _Inliner:
    def __init__(self, definitions: dict[str, Any]) -> None:
        self._definitions = definitions
        self._defined: set[str] = set()

    def written(self, schema: Any, namespace: str) -> Any:
        if isinstance(schema, list):
            return [self.written(branch, namespace) for branch in schema]
        if isinstance(schema, str):
            return self._name(schema, namespace)
        if not isinstance(schema, dict):
            return schema
        changed = dict(schema)
        if schema.get("type") in _NAMED and "name" in schema:
            full = _full_name(schema, namespace)
            self._defined.add(full)
            namespace = full.rpartition(".")[0]
            changed |= {"name": full.rpartition(".")[2], "namespace": namespace}
        elif isinstance(schema.get("type"), dict | list | str):
            changed["type"] = self.written(schema["type"], namespace)
        for member in ("items", "values"):
            if member in changed:
                changed[member] = self.written(changed[member], namespace)
        if isinstance(schema.get("fields"), list):
            changed["fields"] = [{**each, "type": self.written(each["type"], namespace)} for each in schema["fields"]]
        return changed

    def _name(self, name: str, namespace: str) -> Any:
        relative = f"{namespace}.{name}" if namespace and "." not in name else name
        for full in (relative, name):
            if full in self._defined:
                return full
            if full in self._definitions:
                return self.written(self._definitions[full], "")
        return name


def _full_name(schema: dict[str, Any], namespace: str) -> str:
    name = str(schema["name"])
    if "." in name:
        return name
    space = schema.get("namespace", namespace)
    return f"{space}.{name}" if space else name
