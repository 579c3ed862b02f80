"""What an expression can give, before any event is there.

Nothing that CEL could still absorb is refused: `false && 1 + 'a' == 2` is false, so only a whole that can
never be boolean is an error. Calls are different: an unknown function or a wrong argument count is one
wherever it stands.
"""

from difflib import get_close_matches
from typing import Final

from parkway.router.cel.errors import CelError, TriggerLoadError, shortened
from parkway.router.cel.functions import FUNCTIONS, Function
from parkway.router.cel.kinds import Kind
from parkway.router.cel.nodes import (
    And,
    Arithmetic,
    Call,
    Comparison,
    Conditional,
    Constant,
    Event,
    Has,
    Index,
    ListOf,
    MapOf,
    Negate,
    Node,
    Not,
    Or,
    Select,
)
from parkway.router.cel.regexes import RegexTooLongError, compile_search
from parkway.router.cel.values import Duration, Timestamp, UInt

_NUMBERS: Final = frozenset({Kind.INT, Kind.UINT, Kind.DOUBLE})
_ORDERED_ALONE: Final = frozenset({Kind.STRING, Kind.BYTES, Kind.BOOL, Kind.TIMESTAMP, Kind.DURATION})
_MAYBE_BOOLEAN: Final = frozenset({Kind.BOOL, Kind.DYN})
_UNKNOWN: Final = frozenset({Kind.DYN, Kind.OTHER})
_MAP_KEYS: Final = _NUMBERS | {Kind.STRING, Kind.BOOL, Kind.DYN, Kind.OTHER}
_SUMS: Final[dict[tuple[str, Kind, Kind], Kind]] = {
    **{
        (operator, kind, kind): kind
        for operator, kinds in {
            "+": (*_NUMBERS, Kind.STRING, Kind.BYTES, Kind.LIST, Kind.DURATION),
            "-": (*_NUMBERS, Kind.DURATION),
            "*": tuple(_NUMBERS),
            "/": tuple(_NUMBERS),
            "%": (Kind.INT, Kind.UINT),
        }.items()
        for kind in kinds
    },
    ("+", Kind.TIMESTAMP, Kind.DURATION): Kind.TIMESTAMP,
    ("+", Kind.DURATION, Kind.TIMESTAMP): Kind.TIMESTAMP,
    ("-", Kind.TIMESTAMP, Kind.DURATION): Kind.TIMESTAMP,
    ("-", Kind.TIMESTAMP, Kind.TIMESTAMP): Kind.DURATION,
}


class Checker:
    """Finds the kind of every node once (`kinds`, by node identity) and refuses what cannot be called."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.kinds: dict[int, Kind] = {}
        self.reasons: list[tuple[int, str]] = []  # why a node has no value, innermost first

    def check(self, root: Node) -> None:
        """Refuse an expression whose result can never be boolean.

        Raises:
            TriggerLoadError: `type`, `limit` (a long regex) or `syntax` (a bad regex).

        """
        kind = self.kind(root)
        if kind is Kind.NEVER:
            position, reason = self.reasons[0]
            raise TriggerLoadError("type", f"{reason}, so the result can never be boolean", self.text, position)
        if kind not in _MAYBE_BOOLEAN:
            raise TriggerLoadError(
                "type",
                f"the result is {kind.value} and can never be boolean: compare it, as in `x == 1`",
                self.text,
                root.position,
            )

    def kind(self, node: Node) -> Kind:
        kind = self.find(node)
        self.kinds[id(node)] = kind
        return kind

    def find(self, node: Node) -> Kind:
        match node:
            case Constant(value=value):
                return _kind_of_constant(value)
            case ListOf(items=items):
                return self.all_or_never(Kind.LIST, *(self.kind(item) for item in items))
            case MapOf():
                return self.map(node)
            case Event(part=part):
                return Kind.MAP if part == "attributes" else Kind.STRING
            case Select():
                return self.select(node)
            case Index():
                return self.index(node)
            case Has(operand=operand):
                if operand is not None:
                    self.kind(operand)
                return Kind.BOOL
            case Not(operand=operand):
                return self.logic(node, "!", (self.kind(operand),), absorbs=False)
            case And(operands=operands):
                return self.logic(node, "&&", tuple(map(self.kind, operands)), absorbs=True)
            case Or(operands=operands):
                return self.logic(node, "||", tuple(map(self.kind, operands)), absorbs=True)
            case Negate():
                return self.negate(node)
            case Comparison():
                return self.comparison(node)
            case Arithmetic():
                return self.arithmetic(node)
            case Conditional():
                return self.conditional(node)
            case Call():
                return self.call(node)
            case _:
                raise AssertionError(node)

    def never(self, node: Node, reason: str) -> Kind:
        self.reasons.append((node.position, reason))
        return Kind.NEVER

    def all_or_never(self, kind: Kind, *parts: Kind) -> Kind:
        return Kind.NEVER if Kind.NEVER in parts else kind

    def map(self, node: MapOf) -> Kind:
        for key, _ in node.entries:
            if self.kind(key) not in _MAP_KEYS - {Kind.DOUBLE, Kind.NEVER}:
                return self.never(key, "a map key is a string, an integer or a boolean")
        return self.all_or_never(Kind.MAP, *(self.kind(part) for entry in node.entries for part in entry))

    def select(self, node: Select) -> Kind:
        kind = self.kind(node.operand)
        if kind is Kind.MAP or kind in _UNKNOWN:
            return Kind.DYN
        return (
            Kind.NEVER
            if kind is Kind.NEVER
            else self.never(node, f"{kind.value} has no field {shortened(node.field)!r}")
        )

    def index(self, node: Index) -> Kind:
        operand, index = self.kind(node.operand), self.kind(node.index)
        if Kind.NEVER in (operand, index):
            return Kind.NEVER
        allowed = {
            Kind.LIST: _NUMBERS | _UNKNOWN,
            Kind.MAP: _MAP_KEYS,
            Kind.DYN: _MAP_KEYS,
            Kind.OTHER: _MAP_KEYS,
        }.get(operand)
        if allowed is None:
            return self.never(node, f"{operand.value} has no index")
        if index not in allowed:
            return self.never(node.index, f"{operand.value} is not indexed by {index.value}")
        return Kind.DYN

    def logic(self, node: Node, operator: str, operands: tuple[Kind, ...], *, absorbs: bool) -> Kind:
        """`&&` and `||` absorb an error, so one operand that can be boolean is enough."""
        possible = [kind in _MAYBE_BOOLEAN for kind in operands]
        if any(possible) if absorbs else all(possible):
            return Kind.BOOL
        if Kind.NEVER in operands:
            return Kind.NEVER
        return self.never(node, f"`{operator}` takes booleans")

    def negate(self, node: Negate) -> Kind:
        kind = self.kind(node.operand)
        if kind in _UNKNOWN:
            return Kind.OTHER
        if kind in (Kind.INT, Kind.DOUBLE, Kind.NEVER):
            return kind
        return self.never(node, f"`-` does not take {kind.value}")

    def comparison(self, node: Comparison) -> Kind:
        left, right = self.kind(node.left), self.kind(node.right)
        if Kind.NEVER in (left, right):
            return Kind.NEVER
        if node.operator in ("==", "!=") or _comparable(node.operator, left, right):
            return Kind.BOOL
        return self.never(node, f"`{node.operator}` does not take {left.value} and {right.value}")

    def arithmetic(self, node: Arithmetic) -> Kind:
        left, right = self.kind(node.left), self.kind(node.right)
        if Kind.NEVER in (left, right):
            return Kind.NEVER
        fitting = {
            result
            for (operator, one, other), result in _SUMS.items()
            if operator == node.operator and left in {one, *_UNKNOWN} and right in {other, *_UNKNOWN}
        }
        if not fitting:
            return self.never(node, f"`{node.operator}` does not take {left.value} and {right.value}")
        return fitting.pop() if len(fitting) == 1 else Kind.OTHER

    def conditional(self, node: Conditional) -> Kind:
        condition = self.kind(node.condition)
        then, otherwise = self.kind(node.then), self.kind(node.otherwise)
        if condition is Kind.NEVER:
            return Kind.NEVER
        if condition not in _MAYBE_BOOLEAN:
            return self.never(node.condition, "the condition before `?` is a boolean")
        if then is Kind.NEVER or then is otherwise:
            return otherwise
        if otherwise is Kind.NEVER:
            return then
        return Kind.DYN if {then, otherwise} & _MAYBE_BOOLEAN else Kind.OTHER

    def call(self, node: Call) -> Kind:
        function = self.function(node)
        kinds = [self.kind(argument) for argument in node.arguments]
        self.regex(node)
        if Kind.NEVER in kinds:
            return Kind.NEVER
        for argument, kind, takes in zip(node.arguments, kinds, function.takes, strict=False):
            if kind not in takes:
                return self.never(argument, f"`{node.function}` does not take {kind.value}")
        return kinds[0] if function.name == "dyn" else function.result

    def function(self, node: Call) -> Function:
        function = FUNCTIONS.get(node.function)
        if function is None:
            close = get_close_matches(node.function, FUNCTIONS, n=1)
            way_out = f"did you mean {close[0]}?" if close else f"known are {', '.join(sorted(FUNCTIONS))}"
            raise self.error(node, f"unknown function `{shortened(node.function)}` ({way_out})")
        if not (function.receiver_form if node.receiver else function.global_form):
            raise self.error(node, f"`{node.function}` is not called like this: write {function.form}")
        if not function.accepts(len(node.arguments)):
            given = len(node.arguments) - node.receiver
            raise self.error(node, f"`{node.function}` does not take {given} arguments here: write {function.form}")
        return function

    def regex(self, node: Call) -> None:
        match node:
            case Call(function="matches", arguments=(_, Constant(value=str() as pattern))):
                self.compile_regex(node.arguments[1], pattern)

    def compile_regex(self, node: Node, pattern: str) -> None:
        try:
            compile_search(pattern)
        except RegexTooLongError as error:
            raise TriggerLoadError("limit", f"{error}: shorten it", self.text, node.position) from error
        except CelError as error:
            raise TriggerLoadError("syntax", str(error), self.text, node.position) from error

    def error(self, node: Node, reason: str) -> TriggerLoadError:
        return TriggerLoadError("type", reason, self.text, node.position)


def _comparable(operator: str, left: Kind, right: Kind) -> bool:
    if operator == "in":
        if right is Kind.MAP:
            return left in _MAP_KEYS
        return right is Kind.LIST or right in _UNKNOWN
    if left in _NUMBERS and right in _NUMBERS:
        return True
    allowed = _NUMBERS | _ORDERED_ALONE | _UNKNOWN
    return left in allowed and right in allowed and (left is right or bool({left, right} & _UNKNOWN))


def _kind_of_constant(value: object) -> Kind:
    for python_type, kind in _CONSTANT_KINDS:
        if isinstance(value, python_type):
            return kind
    raise AssertionError(value)


_CONSTANT_KINDS: Final = (
    (type(None), Kind.NULL),
    (bool, Kind.BOOL),
    (UInt, Kind.UINT),
    (int, Kind.INT),
    (float, Kind.DOUBLE),
    (str, Kind.STRING),
    (bytes, Kind.BYTES),
    (Timestamp, Kind.TIMESTAMP),
    (Duration, Kind.DURATION),
)
