"""Tree to Python source over plain JSON dicts.

The rule: generated code gives exactly CEL's value, or raises. What raises is answered by `evaluate.py`.
So a missing key, a wrong type and every other error need no code here, and guards stand only where Python
answers although CEL would not, or answers otherwise: booleans that pass for 0 and 1, ordering of booleans,
`in` on strings, integers outside int64. Guards may fail by raising, as in `... if ok else stop()`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from parkway.router.cel import inline, values
from parkway.router.cel.arithmetic import negate
from parkway.router.cel.errors import CelError
from parkway.router.cel.evaluate import ARITHMETIC, COMPARISONS
from parkway.router.cel.fold import Folder
from parkway.router.cel.functions import FUNCTIONS
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
    path_of,
)
from parkway.router.cel.regexes import compile_search

Compiled = Callable[[Mapping[str, Any]], bool]

_FUNCTION: Final = """\
def trigger(event):
    try:
        {attributes}
        return {body}
    except Exception:
        pass
    return exactly(event)
"""
MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_STRING_METHODS: Final = {"startsWith": "startswith", "endsWith": "endswith"}


def generate(root: Node, kinds: Mapping[int, Kind], exactly: Compiled) -> Compiled:
    """A function from an event to the result of the expression, which asks `exactly` when it cannot tell."""
    generator = _Generator(kinds)
    body = generator.boolean(root)
    source = _FUNCTION.format(
        attributes='attributes = event["attributes"]' if generator.uses_attributes else "pass", body=body
    )
    namespace = {**generator.constants, "exactly": exactly}
    try:
        exec(compile(source, "<trigger>", "exec"), namespace)  # noqa: S102  made of our own templates
    except (SyntaxError, RecursionError, MemoryError):
        return exactly  # nested deeper than Python's own parser goes
    compiled: Compiled = namespace["trigger"]
    return compiled


def _stop() -> Any:
    raise CelError("for the exact evaluator")


class _Generator:
    def __init__(self, kinds: Mapping[int, Kind]) -> None:
        self.kinds = kinds
        self.uses_attributes = False
        self.temporaries = 0
        self.folded = Folder().folded
        self.constants: dict[str, Any] = {
            "__builtins__": {},
            "Exception": Exception,
            "bool": bool,
            "dict": dict,
            "float": float,
            "int": int,
            "isinstance": isinstance,
            "len": len,
            "list": list,
            "str": str,
            **inline.NAMES,
            "stop": _stop,
        }

    def constant(self, value: Any, prefix: str = "constant") -> str:
        name = f"{prefix}_{len(self.constants)}"
        self.constants[name] = value
        return name

    def temporary(self) -> str:
        self.temporaries += 1
        return f"value_{self.temporaries}"

    def is_boolean(self, node: Node) -> bool:
        return self.kinds.get(id(node)) is Kind.BOOL

    def could_be_boolean(self, node: Node) -> bool:
        return self.kinds.get(id(node), Kind.DYN) in (Kind.DYN, Kind.BOOL)

    def boolean(self, node: Node) -> str:
        """Code that gives True or False, or raises."""
        code = self.code(node)
        if self.is_boolean(node):
            return code
        name = self.temporary()
        return f"({name} if ({name} := {code}).__class__ is bool else stop())"

    def code(self, node: Node) -> str:
        node = self.folded(node)
        match node:
            case Constant(value=value):
                return self.literal(value)
            case Event(part="attributes"):
                self.uses_attributes = True
                return "attributes"
            case Event(part=part):
                return f"event[{part!r}]"
            case Select(operand=Constant() | ListOf() | MapOf() as operand, field=field):
                return f"{self.constant(values.field, 'field')}({self.code(operand)}, {field!r})"
            case Index(operand=Constant() | ListOf() | MapOf() as operand, index=index):
                return self.call(values.item, operand, index)
            case Select(operand=operand, field=field):
                return f"{self.code(operand)}[{field!r}]"
            case Index(operand=operand, index=Constant(value=str() as key)):
                return f"{self.code(operand)}[{key!r}]"
            case Index(operand=operand, index=Constant(value=int() as place)) if place >= 0 and type(place) is int:
                name = self.temporary()
                item = self.constant(values.item, "item")
                guard = f"({name} := {self.code(operand)}).__class__ is list"
                return f"({name}[{place}] if {guard} else {item}({name}, {place}))"
            case Index(operand=operand, index=index):
                return self.call(values.item, operand, index)
            case Has():
                return self.has(node)
            case Not(operand=operand):
                return f"(not {self.boolean(operand)})"
            case Negate(operand=operand):
                return self.call(negate, operand)
            case And(operands=operands):
                return self.logic(operands, " and ")
            case Or(operands=operands):
                return self.logic(operands, " or ")
            case Comparison():
                return self.comparison(node)
            case Arithmetic(operator=operator, left=left, right=right):
                return self.arithmetic(operator, left, right)
            case Conditional(condition=condition, then=then, otherwise=otherwise):
                return f"({self.code(then)} if {self.boolean(condition)} else {self.code(otherwise)})"
            case Call():
                return self.function(node)
            case ListOf(items=items):
                return f"[{', '.join(map(self.code, items))}]"
            case MapOf(entries=entries):
                pairs = ", ".join(f"({self.code(key)}, {self.code(value)})" for key, value in entries)
                return f"{self.constant(values.new_map, 'new_map')}([{pairs}])"
            case _:
                raise AssertionError(node)

    def arithmetic(self, operator: str, left: Node, right: Node) -> str:
        right = self.folded(right)
        if isinstance(right, Constant):
            name = self.temporary()
            function = self.constant(ARITHMETIC[operator], "arithmetic")
            literal = self.literal(right.value)
            otherwise = f"{function}({name}, {literal})"
            code = inline.arithmetic(operator, self.code(left), right.value, literal, name, otherwise)
            if code is not None:
                return code
        return self.call(ARITHMETIC[operator], left, right)

    def call(self, function: Callable[..., Any], *arguments: Node) -> str:
        name = self.constant(function, function.__name__)
        return f"{name}({', '.join(map(self.code, arguments))})"

    def literal(self, value: Any) -> str:
        if value is None or isinstance(value, bool | str):
            return repr(value)
        if type(value) is int:
            return f"({value})"
        return self.constant(value)

    def logic(self, operands: tuple[Node, ...], joint: str) -> str:
        """What cannot raise goes first: an operand that decides may stand anywhere."""
        ordered = sorted(operands, key=_may_raise)
        return f"({joint.join(map(self.boolean, ordered))})"

    def has(self, node: Has) -> str:
        if node.operand is None:
            return "True" if node.field == "attributes" else f"({node.field!r} in event)"
        path = path_of(node.operand)
        if path is None:
            name = self.constant(values.has_field, "has_field")
            return f"{name}({self.code(node.operand)}, {node.field!r})"
        if path[0] != "attributes":
            return "False"
        self.uses_attributes = True
        if len(path) == 1:
            return f"(attributes.get({node.field!r}, stop) is not stop)"
        name = self.temporary()
        holders = ["attributes", *([name] * (len(path) - 2))]
        steps = [
            f"isinstance({name} := {holder}.get({step!r}), dict)"
            for holder, step in zip(holders, path[1:], strict=True)
        ]
        return f"({' and '.join(steps)} and {node.field!r} in {name})"

    def comparison(self, node: Comparison) -> str:
        left, right = self.folded(node.left), self.folded(node.right)
        if node.operator == "in":
            return self.membership(left, right)
        for operator, operand, constant in (
            (node.operator, left, right),
            (MIRRORED[node.operator], right, left),
        ):
            if isinstance(constant, Constant) and (code := self.comparison_with(operator, operand, constant.value)):
                return code
        if path_of(left) is not None and path_of(right) is not None:
            return self.comparison_of_fields(node.operator, left, right)
        return self.call(COMPARISONS[node.operator], left, right)

    def comparison_with(self, operator: str, operand: Node, constant: Any) -> str | None:
        if values.is_indexable_scalar(constant):
            equality = operator in ("==", "!=")
            return (self.equality if equality else self.ordering)(operator, operand, constant)
        if operator in ("==", "!=") and inline.equals_as_in_python(constant):
            return f"({self.code(operand)} {operator} {self.literal(constant)})"
        return None

    def comparison_of_fields(self, operator: str, left: Node, right: Node) -> str:
        names = self.temporary(), self.temporary()
        function = self.constant(COMPARISONS[operator], "compare")
        otherwise = f"{function}({names[0]}, {self.code(right)})"
        return inline.compare_fields(operator, self.code(left), self.code(right), names, otherwise)

    def equality(self, operator: str, operand: Node, constant: Any) -> str:
        code = self.code(operand)
        if constant is None or isinstance(constant, bool):
            return f"({code} {'is' if operator == '==' else 'is not'} {constant!r})"
        literal = self.literal(constant)
        if isinstance(constant, str) or constant not in (0, 1) or not self.could_be_boolean(operand):
            return f"({code} {operator} {literal})"
        name = self.temporary()
        if operator == "==":
            return f"(({name} := {code}) == {literal} and {name}.__class__ is not bool)"
        return f"(({name} := {code}) != {literal} or {name}.__class__ is bool)"

    def ordering(self, operator: str, operand: Node, constant: Any) -> str | None:
        if isinstance(constant, str):
            return f"({self.code(operand)} {operator} {self.literal(constant)})"
        if constant is None or isinstance(constant, bool):
            return None
        if not self.could_be_boolean(operand):
            return f"({self.code(operand)} {operator} {self.literal(constant)})"
        name = self.temporary()
        bound = f"{name} {operator} {self.literal(constant)}"
        return f"(stop() if ({name} := {self.code(operand)}).__class__ is bool else {bound})"

    def membership(self, left: Node, right: Node) -> str:
        constants = right.value if isinstance(right, Constant) and isinstance(right.value, list) else None
        if constants is not None and all(map(values.is_indexable_scalar, constants)):
            return self.membership_in_constants(left, constants)
        if isinstance(left, Constant) and isinstance(left.value, str):
            name = self.temporary()
            container = f"({name} := {self.code(right)}).__class__"
            return f"({left.value!r} in {name} if {container} is list or {name}.__class__ is dict else stop())"
        if path_of(left) is not None and path_of(right) is not None:
            names = self.temporary(), self.temporary()
            otherwise = f"{self.constant(values.contains_item, 'contains')}({names[0]}, {self.code(right)})"
            return inline.contains_field(self.code(left), self.code(right), names, otherwise)
        return self.call(values.contains_item, left, right)

    def membership_in_constants(self, item: Node, constants: list[Any]) -> str:
        """Lists and maps cannot be looked up in a set: they raise, as everything that is not plain."""
        keys = self.constant(frozenset(map(values.scalar_key, constants)))
        if all(isinstance(constant, str) for constant in constants):
            return f"({self.code(item)} in {keys})"
        name = self.temporary()
        boolean = f"('bool', {name}) in {keys}"
        return f"({name} in {keys} if ({name} := {self.code(item)}).__class__ is not bool else {boolean})"

    def function(self, node: Call) -> str:
        function = FUNCTIONS[node.function]
        subject, *rest = node.arguments
        if not isinstance(subject, Select | Event):
            return self.call(function.call, *node.arguments)
        name = self.temporary()
        text = f"({name} := {self.code(subject)}).__class__"
        match node.function, rest:
            case "size", _:
                return f"(len({name}) if {text} in SIZED else stop())"
            case "contains", [part]:
                return f"({self.code(part)} in {name} if {text} is str else stop())"
            case ("startsWith" | "endsWith") as method, [part]:
                return f"({name}.{_STRING_METHODS[method]}({self.code(part)}) if {text} is str else stop())"
            case "matches", [Constant(value=str() as pattern)]:
                search = self.constant(compile_search(pattern), "search")
                return f"({search}({name}) if {text} is str else stop())"
            case _:
                return self.call(function.call, *node.arguments)


def constant_items(node: Node) -> list[Any] | None:
    """The values of a list literal that holds nothing but literals."""
    if not isinstance(node, ListOf):
        return None
    items = [item.value for item in node.items if isinstance(item, Constant)]
    return items if len(items) == len(node.items) else None


def _may_raise(node: Node) -> bool:
    match node:
        case Has() | Comparison(operator="==" | "!=", left=Event(), right=Constant()):
            return False
        case Comparison(operator="==" | "!=", left=Constant(), right=Event()):
            return False
        case _:
            return True
