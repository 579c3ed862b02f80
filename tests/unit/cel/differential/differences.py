"""Where triggers answer otherwise than another implementation of CEL, and why.

Each entry recognises its own cases, as narrowly as it can, by what the two said and by the tree. A
difference that no entry recognises is a bug of ours, or a new line here.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from differential.oracles import CPP, Outcome, cpp

from parkway.router.cel import TriggerLoadError
from parkway.router.cel.errors import CelError
from parkway.router.cel.evaluate import evaluate
from parkway.router.cel.nodes import (
    Arithmetic,
    Call,
    Comparison,
    Constant,
    Has,
    Index,
    ListOf,
    MapOf,
    Negate,
    Node,
    Not,
    Select,
    children,
)
from parkway.router.cel.parse import parse
from parkway.router.cel.times import CALENDAR_PARTS
from parkway.router.cel.values import INT_MAX, INT_MIN, Duration, Timestamp, UInt
from parkway.router.cel.write import write_value


@dataclass(frozen=True)
class Case:
    """One question, our answer and theirs. `said` is the reason of an error, or empty."""

    ours: str
    theirs: str
    event: Mapping[str, Any]
    our_outcome: Outcome
    we_said: str
    their_outcome: Outcome
    they_said: str

    def nodes(self) -> Iterator[Node]:
        try:
            pending = [parse(self.ours)[0]]
        except TriggerLoadError:
            return
        while pending:
            node = pending.pop()
            yield node
            pending.extend(children(node))

    def value(self, node: Node) -> Any:
        """What the node gives for the event; a CelError if that is an error."""
        try:
            return evaluate(node, self.event)
        except CelError as error:
            return error
        except (KeyError, TypeError) as error:  # a call that does not load
            return CelError(str(error))


@dataclass(frozen=True)
class Difference:
    reason: str
    recognises: Callable[[Case], bool]


def _checker_refuses(case: Case) -> bool:
    """An error at load that CEL's own static check finds too; the oracle runs without it."""
    try:
        CPP.compile(case.theirs)
    except Exception:
        return case.we_said.startswith("type: ") and "can never be boolean" not in case.we_said
    return False


def _folded_pairs(case: Case) -> bool:
    for node in case.nodes():
        if isinstance(node, Not) and isinstance(node.operand, Not):
            if not isinstance(case.value(node.operand.operand), bool):
                return True
        elif isinstance(node, Negate) and (
            isinstance(node.operand, Negate)
            or (isinstance(node.operand, Constant) and isinstance(node.operand.value, int))
        ):
            return True
    return False


def _strange_guard(case: Case) -> bool:
    """A `has` below something that is no map, which is an error in CEL."""
    return any(
        isinstance(node, Has) and node.operand is not None and not isinstance(case.value(node.operand), dict)
        for node in case.nodes()
    )


def _kept_escape(case: Case) -> bool:
    try:
        return bool(parse(case.ours)[1].warnings) and "Syntax error" in case.they_said
    except TriggerLoadError:
        return False


def _read_otherwise(case: Case) -> bool:
    """A conversion of text, or a time zone, that C++ reads otherwise also when it stands alone."""
    for node in case.nodes():
        match node:
            case Call(function=name, arguments=(argument,)) if name in _CONVERSIONS:
                text, value = case.value(argument), case.value(node)
                written = f"{name}({write_value(text)})"
            case Call(function=name, arguments=(argument, zone)) if name in CALENDAR_PARTS:
                subject, text, value = case.value(argument), case.value(zone), case.value(node)
                written = f"{write_value(subject)}.{name}({write_value(text)})"
            case _:
                continue
        if isinstance(text, str):
            expected = (
                f"type({written}) == type({written})"
                if isinstance(value, CelError)
                else f"{written} == {write_value(value)}"
            )
            if cpp(expected, case.event)[0] is isinstance(value, CelError):
                return True
    return False


_CONVERSIONS = ("int", "uint", "double", "timestamp", "duration")


def _long_duration(case: Case) -> bool:
    values = (case.value(node) for node in case.nodes())
    return any(isinstance(value, Duration) and not INT_MIN <= value.nanoseconds <= INT_MAX for value in values)


CPP_DIFFERENCES = (
    Difference(
        "Its Python bindings cut the strings of an event at a NUL.",
        lambda case: "\\u0000" in json.dumps(case.event),
    ),
    Difference(
        "C++ counts the brackets to 32, triggers those inside the outermost.",
        lambda case: "Expression recursion limit exceeded" in case.they_said,
    ),
    Difference(
        "A regex literal that RE2 does not take is an error at load; C++ finds it when, and if, it is asked.",
        lambda case: case.we_said.startswith("syntax: RE2 does not take the regex"),
    ),
    Difference(
        "An unknown function or a wrong argument count is an error at load, as it is for CEL's static check.",
        _checker_refuses,
    ),
    Difference(
        "Macros are no part of triggers.",
        lambda case: case.we_said.startswith("unsupported: "),
    ),
    Difference(
        "Triggers have limits of their own.",
        lambda case: case.we_said.startswith("limit: "),
    ),
    Difference(
        "C++ drops `!!` and `--` when it parses, so that `!!x` takes what is no boolean.",
        _folded_pairs,
    ),
    Difference(
        "Every bare name is an attribute, so `has(name)` is a guard; in CEL it is an unknown variable.",
        lambda case: (
            "No value with name" in case.they_said or "has() argument must be a field selection" in case.they_said
        ),
    ),
    Difference(
        "`has` is never an error: false where a step on the way is missing or no map.",
        _strange_guard,
    ),
    Difference(
        "`'\\d'` keeps its backslash, with a warning, as regexes are often written so; in CEL it is a syntax error.",
        _kept_escape,
    ),
    Difference(
        "C++ reads text more freely (hexadecimal doubles, blanks around, timestamps beside RFC 3339, zones that are files) "
        "and keeps fractions of a nanosecond.",
        _read_otherwise,
    ),
    Difference(
        "C++ clamps durations of more than 292 years to that before it calculates with them.",
        _long_duration,
    ),
    Difference(
        "C++ does not take a raw string that ends in a backslash (`r'\\'`), which the language has.",
        lambda case: (
            "Invalid string literal: String must end with" in case.they_said
            and re.search(r"[rR][bB]?(['\"]).*\\\1", case.theirs, re.DOTALL) is not None
        ),
    ),
)


def _said(pattern: str) -> Callable[[Case], bool]:
    return lambda case: re.search(pattern, case.they_said) is not None


def _failing(*kinds: type[Node]) -> Callable[[Case], bool]:
    """Some node of these kinds is an error for us, or does not load."""

    def failing(case: Case) -> bool:
        if case.we_said.startswith("type: "):
            return True
        return any(isinstance(node, kinds) and isinstance(case.value(node), CelError) for node in case.nodes())

    return failing


def _sum_loses_its_type(case: Case) -> bool:
    """cel-python gives Python's own str, list, float or timedelta for the sum of two."""
    sums = (case.value(node) for node in case.nodes() if isinstance(node, Arithmetic))
    return any(isinstance(value, str | bytes | list | float | Timestamp | Duration) for value in sums)


def _converts_as_python(case: Case) -> bool:
    for node in case.nodes():
        if (
            isinstance(node, Call)
            and node.function == "string"
            and isinstance(case.value(node.arguments[0]), bool | float | Timestamp | Duration)
        ):
            return True
    return _failing(Call)(case)


def _fine_times(case: Case) -> bool:
    for node in case.nodes():
        value = case.value(node)
        if isinstance(value, Timestamp | Duration) and value.nanoseconds % 1_000:
            return True
        if isinstance(node, Call) and node.function == "getMilliseconds":
            return True
    return False


def _said_word(case: Case) -> bool:
    return re.search(r"is a keyword|is reserved|^syntax: unexpected `\w+`", case.we_said) is not None


def _compares_two_number_types(case: Case) -> bool:
    if re.search(r"relation_(eq|ne|lt|le|gt|ge|in)", case.they_said):
        return True
    for node in case.nodes():
        if isinstance(node, Comparison):
            types = {type(case.value(node.left)), type(case.value(node.right))}
            if len(types & {int, UInt, float}) > 1:
                return True
    return False


def _indexes_otherwise(case: Case) -> bool:
    doubles = (node for node in case.nodes() if isinstance(node, Index) and isinstance(case.value(node.index), float))
    return any(doubles) or _failing(Index, Select)(case)


def _odd_literal(case: Case) -> bool:
    if re.search(r"\\(X|\?|[xuU][0-9a-fA-F]*[A-F])", case.theirs):
        return True
    return "is no escape" in case.we_said or re.search(r"(\"\"\"|''').*\n.*\1", case.theirs, re.DOTALL) is not None


def _boolean_beside_number(case: Case) -> bool:
    def kinds(value: Any) -> set[type]:
        if isinstance(value, tuple):  # the boolean key of a map
            return {bool}
        inner = value if isinstance(value, list) else [*value, *value.values()] if isinstance(value, dict) else None
        return {type(value)} if inner is None else {kind for item in inner for kind in kinds(item)}

    for node in case.nodes():
        if isinstance(node, Comparison):
            left, right = kinds(case.value(node.left)), kinds(case.value(node.right))
            if bool in left | right and (left | right) & {int, float, UInt}:
                return True
    return False


def _zero_divides(case: Case) -> bool:
    return any(
        isinstance(node, Arithmetic) and node.operator == "/" and case.value(node.right) == 0 for node in case.nodes()
    )


def _differs_from_cpp_too(case: Case) -> bool:
    outcome, said = cpp(case.theirs, case.event)
    as_cpp = replace(case, their_outcome=outcome, they_said=said)
    return outcome != case.our_outcome and explain(as_cpp, CPP_DIFFERENCES) is not None


def _cpp_agrees(difference: Difference) -> Difference:
    """cel-python stands alone: the C++ runtime says what we say."""
    return Difference(
        difference.reason,
        lambda case: difference.recognises(case) and cpp(case.theirs, case.event)[0] == case.our_outcome,
    )


# cel-python 0.5 fails a good part of CEL's conformance tests. Where it does, the C++ runtime must be with us.
CEL_PYTHON_DIFFERENCES = (
    *map(
        _cpp_agrees,
        (
            Difference("It compares no numbers of two types, or not exactly.", _compares_two_number_types),
            Difference("`==`, `in` and keys of two types are errors.", _said(r"no such overload: ")),
            Difference("What `+` gives has no methods and no type any more.", _sum_loses_its_type),
            Difference(
                "`?:`, `&&` and `||` do not absorb all errors.", _said(r"for _(\?_:|&&|\|\|)_ applied to|for !_")
            ),
            Difference(
                "`timestamp(1)` and other conversions are missing.",
                _said(r"Cannot create|Invalid (duration|timestamp)"),
            ),
            Difference("Its grammar has no `[1,]`, no name in backticks and no `1.a`.", _said(r"^CELParseError")),
            Difference(
                "It crashes.", _said(r"^(IndexError|KeyError|AttributeError|RecursionError|ValueError|TypeError)")
            ),
            Difference("Its errors have no hash.", _said(r"unhashable type")),
            Difference(
                "Ranges of numbers, times and zones are Python's.",
                _said(r"overflow|out of range|invalid|unknown|int\(\) arg"),
            ),
            Difference("Its times are Python's: microseconds, and milliseconds of a whole duration.", _fine_times),
            Difference("Its conversions are Python's: `bool('x')`, `string(null)`, `int('0x1')`.", _converts_as_python),
            Difference("It takes errors as values of maps and lists.", _failing(MapOf, ListOf)),
            Difference("`in` looks into strings, booleans and bytes are ordered.", _failing(Comparison)),
            Difference("It mixes int, uint and double in arithmetic.", _failing(Arithmetic, Negate)),
            Difference("It indexes by what is no key, and no list by a double.", _indexes_otherwise),
            Difference(
                "It takes escapes that are none, lacks others (`\\X4A`, `\\?`), and drops line breaks in strings.",
                _odd_literal,
            ),
            Difference("It takes `1.` for a number.", lambda case: "has no digit after the dot" in case.we_said),
            Difference("It takes `true` for 1.", _boolean_beside_number),
            Difference("`-0.0` has no sign when it divides.", _zero_divides),
            Difference(
                "A name after a leading dot is a name like every other.",
                lambda case: re.search(r"(^|[^\w)\]}])\s*\.\s*[a-z]", case.ours) is not None,
            ),
            Difference("It has messages.", lambda case: "messages do not exist" in case.we_said),
            Difference(
                "Keywords and reserved words can be names, and words end where a keyword does (`a inb`).", _said_word
            ),
        ),
    ),
    Difference("The C++ runtime differs from triggers too, for a reason that its table has.", _differs_from_cpp_too),
)


def explain(case: Case, known: tuple[Difference, ...]) -> Difference | None:
    """The entry that recognises a case, if the answers differ and any does."""
    return next((difference for difference in known if difference.recognises(case)), None)
