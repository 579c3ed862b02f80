"""Random triggers and events, by the grammar.

A case is a pair (text, event). In the text, `§x` is a field that triggers write as `x` (or `attributes.x`)
and `§has(x.y)` is a guard, which CEL and triggers spell differently; `spelt` gives both. Choices come
from a `random.Random`: hypothesis passes one that it can shrink.
"""

import random
import re
from typing import Any

FIELDS: dict[str, list[Any]] = {
    "n": [0, 1, 2, -1, 7, -7, 3, 255, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), True, None, "1"],
    "d": [0.0, -0.0, 0.5, 1.0, -1.5, 2.5, 1e300, 5e-324, 9007199254740992.0, 9.3e18, -9.3e18, 1.8e19, 1e21, 7],
    "s": ["", "a", "b", "ab", "aB", "é", "e\u0301", "😀", "1", "-7", "+7", "0x1f", "1.5", "1e3", "true", "T", "90s", "1h30m"],
    "t": ["2024-02-29T23:59:59.5Z", "2024-01-02T03:04:05+01:00", "1969-12-31T23:59:59.999Z", "0001-01-01T00:00:00Z",
          "9999-12-31T23:59:59Z", "2024-13-01T00:00:00Z", "2024-01-02", "1h", "-1.5s", "300ms", ""],
    "f": [True, False, True, False, None, 1, "true"],
    "l": [[], [1], [True], ["a", "b"], [1.0, "a", None], [0, 1, 2, 7], [[1]], [{"a": 1}], {"a": 1}, "ab"],
    "m": [{}, {"a": 1}, {"a": {"b": [1, {"c": "x"}]}}, {"b": True}, {"a": "ab", "b": 2.5}, {"1": 1}, {"": 0}, [1], None],
    "x": [None, True, False, 0, 1, 1.0, "", "a", [], {}, {"a": 1}, [1, "a"]],
}  # fmt: skip
TYPES = ["a", "b", "order.created", "_input_event"]

INTS = ["0", "1", "2", "-1", "7", "-7", "255", "0x1F", "-0x1f", "9223372036854775807", "-9223372036854775808", "9007199254740993"]  # fmt: skip
UINTS = ["0u", "1u", "2u", "7U", "0x1Fu", "18446744073709551615u", "9223372036854775808u"]
DOUBLES = ["0.0", "-0.0", "1.0", "0.5", "-1.5", "1e3", "2.5E-3", ".5", "1e300", "1e-7", "9007199254740992.0",
           "9223372036854775807.0", "9223372036854775808.0", "-9223372036854775808.0", "18446744073709551615.0",
           "18446744073709549568.0", "9223372036854774784.0", "123456789.0", "123456.0", "0.1", "1e15", "1e16", "1e21",
           "1234567.8", "100000.0", "1e6", "1.7976931348623157e308", "5e-324"]  # fmt: skip
STRINGS = ["''", "'a'", "'ab'", '"b"', "'é'", "'1'", "'-7'", "'1.5'", "'inf'", "'NaN'", "'true'", "'t'", "'90s'",
           "'2024-02-29T12:00:00Z'", r"'\x41\u00e9\U0001F600\101'", r"'\"\'\\\?\`\a\b\f\n\r\t\v'", r"r'\d\n'", "'''it's'''",
           '"""a\nb"""', r"R'''a\n'b'''", "'// no comment'", "'\u00e9'", "'e\u0301'", "'İ'"]  # fmt: skip
BYTES = ["b''", "b'a'", "B'ab'", r"b'\xff'", r"b'\303\251'", "b'é'", r"br'\x'", r"b'\n'"]
PATTERNS = ["''", "'a'", "'^a$'", "'a|b'", "'(a)(b)?'", "'[a-c]+'", r"r'\d+'", r"r'^\w$'", r"r'\bA'", "'(?i)A'", "'a{2}'",
            "'.'", r"r'\pL'", r"r'\x{e9}'", "'^'", "'$'", "'(?s)a.b'", "'(?P<n>a)'", "'('", "'a**'", "'(?=a)'", r"r'\1'",
            "'[[:alpha:]]'", r"r'\z'", r"r'\C'", r"r'\Qa.b\E'", "'a{1001}'", "'(?!a)'", "'[^a]'", "'é+'"]  # fmt: skip
ZONES = ["", "", "'UTC'", "'Europe/Berlin'", "'-05:30'", "'+14:00'", "'02:00'", "'America/New_York'", "'Nowhere'", "''",
         "'+24:00'", "'utc'", "'Z'"]  # fmt: skip
TIMES = ["timestamp('2024-02-29T12:34:56.789Z')", "timestamp('1969-12-31T23:59:59.999999999Z')", "timestamp(0)",
         "timestamp(-62135596800)", "timestamp('9999-12-31T23:59:59.999999999Z')", "timestamp('2024-03-31T00:30:00Z')",
         "timestamp('2024-06-01T00:00:00-07:00')"]  # fmt: skip
DURATIONS = ["duration('90s')", "duration('-1h2m3.5s')", "duration('0')", "duration('1ns')", "duration('1.5ms')",
             "duration('1us')", "duration('315576000000s')", "duration('-0.5s')", "duration('2562047h')"]  # fmt: skip
TIMESTAMP_GETTERS = ["getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear"]
GETTERS = ["getHours", "getMinutes", "getSeconds", "getMilliseconds"]
COMPARISONS = ["==", "!=", "<", "<=", ">", ">="]
HAS = re.compile(r"§has\(([a-z.]+)\)")


def spelt(text: str) -> tuple[str, str]:
    """The text as a trigger writes it, and as CEL with the variables `attributes`, `id`, `event_type` does."""
    ours = text.replace("§type", "type").replace("§id", "id").replace("§", "")
    theirs = HAS.sub(lambda found: _guard(found[1]), text)
    return ours, theirs.replace("§type", "event_type").replace("§id", "id").replace("§", "attributes.")


def _guard(path: str) -> str:
    """`has(a.b)` of triggers in CEL, where a step that is no map is an error."""
    names = path.split(".")
    prefixes = ["attributes." + ".".join(names[:end]) for end in range(1, len(names) + 1)]
    steps = [f"has({prefix}) && type({prefix}) == type({{}})" for prefix in prefixes[:-1]]
    return "(" + " && ".join([*steps, f"has({prefixes[-1]})"]) + ")"


class Generator:
    """Grows expressions of a wanted type, with a wrong one here and there."""

    def __init__(self, source: random.Random) -> None:
        self.random = source

    def case(self) -> tuple[str, dict[str, Any]]:
        return self.boolean(self.pick([1, 2, 2, 3, 4])), self.event()

    def event(self) -> dict[str, Any]:
        present = {name: values for name, values in FIELDS.items() if not self.chance(0.04)}
        attributes = {name: self.pick(values) for name, values in present.items()}
        return {"id": "1", "type": self.pick(TYPES), "attributes": attributes}

    def pick(self, items: Any) -> Any:
        return items[self.random.randrange(len(items))]

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def branch(self, depth: int, leaves: float, *weighted: tuple[int, Any]) -> Any:
        """A function to go on with; None for a leaf."""
        if depth <= 0 or self.chance(leaves):
            return None
        return self.pick([function for weight, function in weighted for _ in range(weight)])

    def boolean(self, depth: int) -> str:
        if self.chance(0.03):
            return self.anything(depth - 1)
        grow = self.branch(
            depth, 0.1,
            (7, self.comparison), (4, self.logic), (2, self.membership), (2, self.negation), (2, self.choice_of(self.boolean)),
            (4, self.string_test), (1, self.type_test), (2, self.calendar_test), (1, self.conversion("bool", self.string, self.boolean)),
        )  # fmt: skip
        if grow is None:
            return self.pick(
                [
                    "§f",
                    "§f",
                    "true",
                    "false",
                    "§m.b",
                    "§has(m.a.b)",
                    "§has(x)",
                    "§has(m.a)",
                    "§type == 'a'",
                    "§id == '1'",
                ]
            )
        return grow(depth - 1)

    def comparison(self, depth: int) -> str:
        kind = self.pick(
            [
                self.number,
                self.number,
                self.string,
                self.boolean,
                self.time,
                self.bytes_,
                self.list_,
                self.map_,
                self.anything,
            ]
        )
        other = self.anything if self.chance(0.1) else kind
        operator = self.pick(["==", "!="] if kind in (self.list_, self.map_) and not self.chance(0.1) else COMPARISONS)
        return f"({kind(depth)} {operator} {other(depth)})"

    def logic(self, depth: int) -> str:
        operator = self.pick(["&&", "||"])
        return "(" + f" {operator} ".join(self.boolean(depth) for _ in range(self.pick([2, 2, 3]))) + ")"

    def membership(self, depth: int) -> str:
        return f"({self.pick([self.anything, self.number, self.string])(depth)} in {self.pick([self.list_, self.list_, self.map_])(depth)})"

    def negation(self, depth: int) -> str:
        return f"!{self.boolean(depth)}" if self.chance(0.8) else f"!!{self.boolean(depth)}"

    def choice_of(self, kind: Any) -> Any:
        def choice(depth: int) -> str:
            condition = self.number(depth) if self.chance(0.03) else self.boolean(depth)
            return f"({condition} ? {kind(depth)} : {kind(depth)})"

        return choice

    def string_test(self, depth: int) -> str:
        function = self.pick(["contains", "startsWith", "endsWith", "matches", "matches"])
        pattern = self.pick(PATTERNS) if function == "matches" and self.chance(0.8) else self.string(depth)
        subject = self.string(depth)
        if function == "matches" and self.chance(0.2):
            return f"matches({subject}, {pattern})"
        return f"{subject}.{function}({pattern})"

    def type_test(self, depth: int) -> str:
        return f"(type({self.anything(depth)}) {self.pick(['==', '!='])} type({self.anything(depth)}))"

    def calendar_test(self, depth: int) -> str:
        return f"({self.getter(depth)} {self.pick(COMPARISONS)} {self.pick(INTS)})"

    def conversion(self, name: str, *kinds: Any) -> Any:
        return lambda depth: f"{name}({self.pick(kinds)(depth)})"

    def number(self, depth: int) -> str:
        if self.chance(0.04):
            return self.anything(depth - 1)
        kind = self.pick([self.int_, self.int_, self.double, self.uint])
        return kind(depth)

    def int_(self, depth: int) -> str:
        grow = self.branch(
            depth, 0.4,
            (5, self.arithmetic(self.int_, "+-*/%")), (1, lambda d: f"-{self.parenthesised(self.int_(d))}"),
            (2, lambda d: f"size({self.pick([self.string, self.list_, self.map_, self.bytes_])(d)})"),
            (1, lambda d: f"{self.pick([self.string, self.list_, self.map_])(d)}.size()"),
            (3, self.conversion("int", self.double, self.uint, self.string, self.time, self.int_)),
            (7, self.getter), (1, self.choice_of(self.int_)), (1, lambda d: f"§l[{self.number(d)}]"),
        )  # fmt: skip
        return self.pick(["§n", "§n", "§n", "§m.a", "§l[0]", "§l[1]", *INTS]) if grow is None else grow(depth - 1)

    def uint(self, depth: int) -> str:
        grow = self.branch(
            depth, 0.4,
            (3, self.arithmetic(self.uint, "+-*/%")), (3, self.conversion("uint", self.int_, self.double, self.string, self.uint)),
            (1, self.choice_of(self.uint)),
        )  # fmt: skip
        return self.pick(UINTS) if grow is None else grow(depth - 1)

    def double(self, depth: int) -> str:
        grow = self.branch(
            depth, 0.4,
            (5, self.arithmetic(self.double, "+-*/")), (1, lambda d: f"-{self.parenthesised(self.double(d))}"),
            (3, self.conversion("double", self.int_, self.uint, self.string, self.double)),
            (1, self.choice_of(self.double)), (1, self.arithmetic(self.double, "%")),
        )  # fmt: skip
        return self.pick(["§d", "§d", "§d", "§m.b", *DOUBLES]) if grow is None else grow(depth - 1)

    def arithmetic(self, kind: Any, operators: str) -> Any:
        def arithmetic(depth: int) -> str:
            other = self.number if self.chance(0.05) else kind
            return f"({kind(depth)} {self.pick(operators)} {other(depth)})"

        return arithmetic

    def parenthesised(self, text: str) -> str:
        return f"({text})" if text.startswith("-") else text

    def getter(self, depth: int) -> str:
        zone = self.pick(ZONES)
        subject = self.time(depth)
        return f"{subject}.{self.pick([*TIMESTAMP_GETTERS, *GETTERS])}({zone})"

    def time(self, depth: int) -> str:
        return self.pick([self.timestamp, self.duration])(depth)

    def timestamp(self, depth: int) -> str:
        grow = self.branch(
            depth, 0.5,
            (2, lambda d: f"({self.timestamp(d)} {self.pick('+-')} {self.duration(d)})"), (1, lambda d: f"({self.duration(d)} + {self.timestamp(d)})"),
            (2, self.conversion("timestamp", self.string, self.int_, self.timestamp)), (1, self.choice_of(self.timestamp)),
        )  # fmt: skip
        return self.pick(["timestamp(§t)", "timestamp(§t)", *TIMES]) if grow is None else grow(depth - 1)

    def duration(self, depth: int) -> str:
        grow = self.branch(
            depth, 0.5,
            (2, lambda d: f"({self.duration(d)} {self.pick('+-')} {self.duration(d)})"), (2, lambda d: f"({self.timestamp(d)} - {self.timestamp(d)})"),
            (1, self.conversion("duration", self.string, self.duration)), (1, self.choice_of(self.duration)),
        )  # fmt: skip
        return self.pick(["duration(§t)", "duration(§s)", *DURATIONS]) if grow is None else grow(depth - 1)

    def string(self, depth: int) -> str:
        if self.chance(0.04):
            return self.anything(depth - 1)
        grow = self.branch(
            depth, 0.4,
            (2, lambda d: f"({self.string(d)} + {self.string(d)})"), (1, self.choice_of(self.string)),
            (4, self.conversion("string", self.int_, self.uint, self.double, self.double, self.boolean, self.time, self.bytes_, self.string)),
        )  # fmt: skip
        return self.pick(["§s", "§s", "§s", "§s", "§t", "§m.a", "§type", *STRINGS]) if grow is None else grow(depth - 1)

    def bytes_(self, depth: int) -> str:
        grow = self.branch(
            depth, 0.4,
            (2, lambda d: f"({self.bytes_(d)} + {self.bytes_(d)})"), (2, self.conversion("bytes", self.string, self.bytes_)),
        )  # fmt: skip
        return self.pick(BYTES) if grow is None else grow(depth - 1)

    def list_(self, depth: int) -> str:
        if self.chance(0.04):
            return self.anything(depth - 1)
        grow = self.branch(
            depth, 0.3,
            (2, lambda d: f"({self.list_(d)} + {self.list_(d)})"),
            (3, lambda d: "[" + ", ".join(self.anything(d) for _ in range(self.pick([1, 2, 3]))) + self.pick(["]", ",]"])),
        )  # fmt: skip
        return (
            self.pick(["§l", "§l", "[]", "[1, 2u, 1.5]", "['a', 'b']", "[true]", "[null]", "[[1], [1.0]]", "[§n, §s]"])
            if grow is None
            else grow(depth - 1)
        )

    def map_(self, depth: int) -> str:
        if self.chance(0.04):
            return self.anything(depth - 1)
        grow = self.branch(
            depth, 0.3,
            (3, lambda d: f"{{{self.pick([self.string, self.int_, self.uint, self.boolean])(d)}: {self.anything(d)}}}"),
            (1, lambda d: f"{{{self.string(d)}: {self.anything(d)}, {self.int_(d)}: {self.anything(d)},}}"),
        )  # fmt: skip
        return (
            self.pick(["§m", "§m", "{}", "{'a': 1}", "{1: 'a'}", "{true: 1, 'b': 2}", "{1u: 2.0}", "{'a': {'b': [1]}}"])
            if grow is None
            else grow(depth - 1)
        )

    def anything(self, depth: int) -> str:
        if depth <= 0:
            return self.pick(
                [
                    *(f"§{name}" for name in FIELDS),
                    "§missing",
                    "null",
                    *INTS[:5],
                    *UINTS[:2],
                    *DOUBLES[:4],
                    *STRINGS[:6],
                    *BYTES[:3],
                    "[]",
                    "{}",
                    "true",
                ]
            )
        return self.pick([
            self.int_, self.uint, self.double, self.string, self.bytes_, self.list_, self.map_, self.boolean, self.time,
            lambda d: f"dyn({self.anything(d)})",
            lambda d: f"{self.pick(['§m', '§x', '§l', self.map_(d), self.list_(d)])}[{self.anything(d)}]",
            lambda d: f"{self.pick(['§m', '§x', '§m.a', self.map_(d)])}.{self.pick('abc')}",
            lambda d: f"§m.`{self.pick(['a', 'b', 'a-b'])}`",
        ])(depth - 1)  # fmt: skip


# Pieces that a mutation puts in, takes out or swaps: what a typing person or a hostile one would.
PIECES = [" ", "\n", "\t", "//", "// c\n", "(", ")", "[", "]", "{", "}", ",", ".", ".?", "[?", "?", ":", "!", "-", "+", "*",
          "/", "%", "<", "<=", ">", "==", "=", "!=", "&&", "&", "||", "|", " in ", "in", "null", "true", "1", "0", "u", "1u",
          ".5", "1.", "1e", "0x", "0xg", "1_0", "'", '"', "'''", "\\", "r'", "b'", "`", "as", " for", "if", ".a", ".in", ".for",
          "attributes", "size", "has(", "e", "_", "é", "\x00", "\ufeff", "\u00a0", "@", "#", "$", ";", "~", "^", "''"]  # fmt: skip


def mutated(text: str, source: random.Random) -> str:
    """The text with one to three small changes; most results are no CEL any more, some still are."""
    for _ in range(source.choice([1, 1, 2, 3])):
        place = source.randrange(len(text) + 1)
        end = min(len(text), place + source.choice([0, 0, 1, 1, 2, 4]))
        text = text[:place] + source.choice([*PIECES, ""]) + text[end:]
    return text


def case(source: random.Random) -> tuple[str, str, dict[str, Any]]:
    """A case: (as a trigger, as CEL, event). One in four is mutated."""
    text, event = Generator(source).case()
    ours, theirs = spelt(text)
    if source.random() < 0.25:
        ours = theirs = mutated(theirs, source)
    elif source.random() < 0.3:
        ours = theirs
    theirs = re.sub(r"\btype\b(?!\s*\()", "event_type", theirs)
    return ours.replace("event_type", "type"), theirs, event
