"""Python code for operators whose operands are plain JSON: no call, only the guards that it takes.

Every function gives an expression over the code of its operands, or None where there is no such code. Names
like `l` are temporaries for `:=`. Code that stands twice in a template must be cheap and short: a path.

Below 2^53 integers and doubles are compared alike by Python and by CEL; nothing there overflows int64.
"""

from typing import Any, Final

from parkway.router.cel.values import EXACT_DOUBLE

# Names in the namespace of the generated function.
NAMES: Final[dict[str, Any]] = {
    "NUMBERS": frozenset({int, float}),
    "CONTAINERS": frozenset({list, dict}),
    "SIZED": frozenset({str, list, dict, bytes}),
}
_LARGEST_FACTOR: Final = 512


def in_range(name: str) -> str:
    return f"{-EXACT_DOUBLE} < {name} < {EXACT_DOUBLE}"


def compare_fields(operator: str, left: str, right: str, names: tuple[str, str], otherwise: str) -> str:
    """`a < b`, `a == b` of two paths. `otherwise` gives the answer for what is neither number nor string."""
    one, other = names
    numbers = (
        f"({one} := {left}).__class__ in NUMBERS and ({other} := {right}).__class__ in NUMBERS"
        f" and {in_range(one)} and {in_range(other)}"
    )
    strings = f"{one}.__class__ is str and ({other} := {right}).__class__ is str"
    return f"({one} {operator} {other} if ({numbers}) or ({strings}) else {otherwise})"


def contains_field(left: str, right: str, names: tuple[str, str], otherwise: str) -> str:
    """`a in b` of two paths, for a string `a`."""
    one, other = names
    guard = f"({one} := {left}).__class__ is str and ({other} := {right}).__class__ in CONTAINERS"
    return f"({one} in {other} if {guard} else {otherwise})"


def arithmetic(operator: str, left: str, constant: Any, literal: str, name: str, otherwise: str) -> str | None:
    """`x + 1`, `x / 2.5` ...; `otherwise` is asked about what is no small integer or no double."""
    if isinstance(constant, float):
        if not constant or operator == "%":
            return None
        return f"({name} {operator} {literal} if ({name} := {left}).__class__ is float else {otherwise})"
    if type(constant) is not int or abs(constant) >= EXACT_DOUBLE:
        return None
    if operator in "/%":  # Python rounds down, CEL toward zero
        if constant <= 0:
            return None
        python = "//" if operator == "/" else "%"
        bounds = f"0 <= {name} < {EXACT_DOUBLE}"
        return f"({name} {python} {literal} if ({name} := {left}).__class__ is int and {bounds} else {otherwise})"
    if operator == "*" and abs(constant) > _LARGEST_FACTOR:
        return None
    return f"({name} {operator} {literal} if ({name} := {left}).__class__ is int and {in_range(name)} else {otherwise})"


def equals_as_in_python(value: Any) -> bool:
    """Whether `==` with this constant means the same in Python: nothing in it is a number or a boolean."""
    if isinstance(value, list):
        return all(map(equals_as_in_python, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and equals_as_in_python(item) for key, item in value.items())
    return value is None or isinstance(value, str)
