"""Checks a JSON value against a JSON schema, both of them untrusted: bounded work, linear-time patterns.

The keywords that pydantic and the model providers write are checked: type, enum, const, properties, required,
additionalProperties, minProperties, maxProperties, items, prefixItems, minItems, maxItems, uniqueItems,
minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, minLength, maxLength, pattern, anyOf,
oneOf, allOf, not and local $ref. Of patternProperties only the names count; other keywords
forbid nothing, as in JSON schema.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import re2

from parkway.schemas import jsonio
from parkway.workers.actions.json_values import TYPES, comparable, equal, is_number, show

_MAX_STEPS: Final = 100_000
_MAX_DEPTH: Final = 200  # a schema may nest 100 deep, and `$ref` adds steps of its own


class SchemaError(ValueError):
    """A schema that cannot be used: no object, a bad pattern, a reference to nothing, or one without end."""


def first_problem(value: Any, schema: Mapping[str, Any]) -> str | None:
    """Where `value` breaks `schema`, as `$.items[2].price: -1 is less than the minimum 0`; None when it fits.

    Raises SchemaError when the schema itself cannot be used.
    """
    return next(_Check(schema).problems(value, schema, "$"), None)


@dataclass(slots=True)
class _Check:
    root: Any
    steps: int = 0
    depth: int = 0
    patterns: dict[str, Any] = field(default_factory=dict)

    def problems(self, value: Any, schema: Any, at: str) -> Iterator[str]:
        if schema is True:
            return
        if schema is False:
            yield f"{at}: no value is allowed here"
            return
        if not isinstance(schema, Mapping):
            raise SchemaError(f"a schema is an object or a boolean, not {show(schema)}")
        self.depth += 1
        self.spend(1)
        try:
            for keyword, check in _KEYWORDS.items():
                if keyword in schema:
                    yield from check(self, value, schema, at)
        finally:
            self.depth -= 1

    def spend(self, steps: int) -> None:
        self.steps += steps
        if self.steps > _MAX_STEPS or self.depth > _MAX_DEPTH:
            raise SchemaError("the schema takes too many steps to check (references in a circle?)")

    def fits(self, value: Any, schema: Any, at: str) -> bool:
        return next(self.problems(value, schema, at), None) is None

    def resolve(self, reference: Any) -> Any:
        """The part of the schema that a local reference such as `#/$defs/Item` names."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise SchemaError(f"$ref {show(reference)}: only references inside the schema (#/...) are followed")
        node = self.root
        for raw in reference.removeprefix("#").split("/")[1:]:
            step = raw.replace("~1", "/").replace("~0", "~")
            if isinstance(node, list) and step.isdecimal() and int(step) < len(node):
                node = node[int(step)]
            elif isinstance(node, Mapping) and step in node:
                node = node[step]
            else:
                raise SchemaError(f"$ref {reference!r} names nothing in the schema")
        return node

    def found(self, pattern: Any, text: str) -> bool:
        if not isinstance(pattern, str):
            raise SchemaError(f"pattern {show(pattern)} is not a string")
        if pattern not in self.patterns:
            try:
                self.patterns[pattern] = re2.compile(pattern)
            except re2.error as error:
                raise SchemaError(f"pattern {show(pattern)}: {error}") from None
        return self.patterns[pattern].search(text) is not None


Keyword = Callable[[_Check, Any, Mapping[str, Any], str], Iterator[str]]


def _type(_: _Check, value: Any, schema: Mapping[str, Any], at: str) -> Iterator[str]:
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    for name in names:
        if name not in TYPES:
            raise SchemaError(f"type {show(name)} is none of {', '.join(TYPES)}")
    if not any(TYPES[name](value) for name in names):
        yield f"{at}: {show(value)} is not of type {' or '.join(names)}"


def _enum(check: _Check, value: Any, schema: Mapping[str, Any], at: str) -> Iterator[str]:
    allowed = _list(schema, "enum")
    check.spend(len(allowed))
    if not any(equal(value, one) for one in allowed):
        yield f"{at}: {show(value)} is none of {show(allowed)}"


def _const(_: _Check, value: Any, schema: Mapping[str, Any], at: str) -> Iterator[str]:
    if not equal(value, schema["const"]):
        yield f"{at}: {show(value)} is not {show(schema['const'])}"


def _reference(check: _Check, value: Any, schema: Mapping[str, Any], at: str) -> Iterator[str]:
    yield from check.problems(value, check.resolve(schema["$ref"]), at)


def _required(_: _Check, value: Any, schema: Mapping[str, Any], at: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name in _list(schema, "required"):
            if name not in value:
                yield f"{at}: {show(name)} is missing"


def _properties(check: _Check, value: Any, schema: Mapping[str, Any], at: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, part in _mapping(schema, "properties").items():
            if name in value:
                yield from check.problems(value[name], part, f"{at}.{name}")


def _additional(check: _Check, value: Any, schema: Mapping[str, Any], at: str) -> Iterator[str]:
    if not isinstance(value, dict):
        return
    known = _mapping(schema, "properties") if "properties" in schema else {}
    patterns = schema.get("patternProperties") or {}
    for name, item in value.items():
        if name in known or any(check.found(pattern, name) for pattern in patterns):
            continue
        if schema["additionalProperties"] is False:
            yield f"{at}: {show(name)} is not a known property"
        else:
            yield from check.problems(item, schema["additionalProperties"], f"{at}.{name}")


def _items(check: _Check, value: Any, schema: Mapping[str, Any], at: str) -> Iterator[str]:
    if isinstance(value, list):
        start = len(schema.get("prefixItems") or [])
        for index in range(start, len(value)):
            yield from check.problems(value[index], schema["items"], f"{at}[{index}]")


def _prefix_items(check: _Check, value: Any, schema: Mapping[str, Any], at: str) -> Iterator[str]:
    if isinstance(value, list):
        for index, (item, part) in enumerate(zip(value, _list(schema, "prefixItems"), strict=False)):
            yield from check.problems(item, part, f"{at}[{index}]")


def _unique(_: _Check, value: Any, schema: Mapping[str, Any], at: str) -> Iterator[str]:
    if schema["uniqueItems"] is True and isinstance(value, list):
        seen: set[bytes] = set()
        for index, item in enumerate(value):
            form = jsonio.dumps(comparable(item))
            if form in seen:
                yield f"{at}[{index}]: {show(item)} stands in the list twice"
            seen.add(form)


def _any_of(check: _Check, value: Any, schema: Mapping[str, Any], at: str) -> Iterator[str]:
    options = _list(schema, "anyOf")
    problems = [next(check.problems(value, option, at), None) for option in options]
    if problems and None not in problems:
        yield f"{at}: {show(value)} fits none of {len(options)} alternatives ({problems[0]})"


def _one_of(check: _Check, value: Any, schema: Mapping[str, Any], at: str) -> Iterator[str]:
    fitting = sum(check.fits(value, option, at) for option in _list(schema, "oneOf"))
    if fitting != 1:
        yield f"{at}: {show(value)} fits {fitting} alternatives, it must fit exactly one"


def _all_of(check: _Check, value: Any, schema: Mapping[str, Any], at: str) -> Iterator[str]:
    for part in _list(schema, "allOf"):
        yield from check.problems(value, part, at)


def _not(check: _Check, value: Any, schema: Mapping[str, Any], at: str) -> Iterator[str]:
    if check.fits(value, schema["not"], at):
        yield f"{at}: {show(value)} fits what it must not fit"


def _pattern(check: _Check, value: Any, schema: Mapping[str, Any], at: str) -> Iterator[str]:
    if isinstance(value, str) and not check.found(schema["pattern"], value):
        yield f"{at}: {show(value)} does not match {schema['pattern']!r}"


def _bound(keyword: str, measure: Callable[[Any], Any], broken: Callable[[Any, Any], bool], word: str) -> Keyword:
    """A keyword that compares a measure of the value (None: it does not apply) with a number."""

    def check(_: _Check, value: Any, schema: Mapping[str, Any], at: str) -> Iterator[str]:
        limit = schema[keyword]
        if not is_number(limit):
            raise SchemaError(f"{keyword} {show(limit)} is not a number")
        measured = measure(value)
        if measured is not None and broken(measured, limit):
            yield f"{at}: {show(value)} {word} {limit}"

    return check


def _number(value: Any) -> Any:
    return value if is_number(value) else None


def _size(kind: type[str | list[Any] | dict[str, Any]]) -> Callable[[Any], Any]:
    return lambda value: len(value) if isinstance(value, kind) else None


def _not_multiple(value: Any, of: Any) -> bool:
    if of <= 0:
        raise SchemaError(f"multipleOf {of} is not above zero")
    ratio = float(value) / of
    if not math.isfinite(ratio):
        return False
    return bool(abs(ratio - round(ratio)) > 1e-9)  # 0.3 is a multiple of 0.1, whatever binary fractions say


_KEYWORDS: Final[dict[str, Keyword]] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "$ref": _reference,
    "required": _required,
    "properties": _properties,
    "additionalProperties": _additional,
    "items": _items,
    "prefixItems": _prefix_items,
    "uniqueItems": _unique,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "allOf": _all_of,
    "not": _not,
    "pattern": _pattern,
    "minimum": _bound("minimum", _number, lambda value, limit: value < limit, "is less than the minimum"),
    "maximum": _bound("maximum", _number, lambda value, limit: value > limit, "is more than the maximum"),
    "exclusiveMinimum": _bound("exclusiveMinimum", _number, lambda v, limit: v <= limit, "is not more than"),
    "exclusiveMaximum": _bound("exclusiveMaximum", _number, lambda v, limit: v >= limit, "is not less than"),
    "multipleOf": _bound("multipleOf", _number, _not_multiple, "is no multiple of"),
    "minLength": _bound("minLength", _size(str), lambda size, limit: size < limit, "is shorter than"),
    "maxLength": _bound("maxLength", _size(str), lambda size, limit: size > limit, "is longer than"),
    "minItems": _bound("minItems", _size(list), lambda size, limit: size < limit, "has fewer items than"),
    "maxItems": _bound("maxItems", _size(list), lambda size, limit: size > limit, "has more items than"),
    "minProperties": _bound("minProperties", _size(dict), lambda s, limit: s < limit, "has fewer properties than"),
    "maxProperties": _bound("maxProperties", _size(dict), lambda s, limit: s > limit, "has more properties than"),
}


def _list(schema: Mapping[str, Any], keyword: str) -> list[Any]:
    value = schema[keyword]
    if not isinstance(value, list):
        raise SchemaError(f"{keyword} {show(value)} is not a list")
    return value


def _mapping(schema: Mapping[str, Any], keyword: str) -> Mapping[str, Any]:
    value = schema[keyword]
    if not isinstance(value, Mapping):
        raise SchemaError(f"{keyword} {show(value)} is not an object")
    return value
