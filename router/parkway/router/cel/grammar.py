"""cel-python's grammar, on the mask of `scan.py`. Its runners are not used."""

import re
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from lark import Lark, Token, Tree
from lark.exceptions import LarkError, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from parkway.router.cel.errors import TriggerLoadError, shortened
from parkway.router.cel.scan import Scan

_KEYWORDS: Final = frozenset({"in", "true", "false", "null"})
_PASS_THROUGH: Final = (
    "expr",
    "conditionalor",
    "conditionaland",
    "relation",
    "addition",
    "multiplication",
    "unary",
    "member",
    "primary",
)
_FLOAT: Final = ('DIGIT+ "." DIGIT* EXPONENT?', r"DIGIT+ /\.(?!\s*[0-9A-Za-z_])/")
_HINTS: Final = {
    "=": "write `==`",
    "&": "write `&&`",
    "|": "write `||`",
    "and": "write `&&`",
    "or": "write `||`",
    "not": "write `!`",
    "is": "write `==`",
    ";": "an entry is one expression",
}


def parse_mask(text: str, found: Scan) -> Any:
    """The grammar's tree. Its tokens know their position in `text`, literals are those of `found`.

    Raises:
        TriggerLoadError: `syntax`.

    """
    try:
        tree = _grammar().parse(found.mask)
    except UnexpectedInput as error:
        raise _syntax_error(text, error) from error
    except LarkError as error:
        raise TriggerLoadError("syntax", f"not an expression: {error}", text) from error
    _check_words(text, found, tree)
    return tree


@lru_cache(maxsize=1)
def _grammar() -> Lark:
    """cel-python's grammar; rules that only pass one child on leave no node, which halves the time.

    In `1.a` it reads the number `1.`, which CEL does not have.
    """
    grammar = _grammar_file().read_text(encoding="utf-8")
    names = "|".join(_PASS_THROUGH)
    grammar, count = re.subn(rf"(?m)^({names})(\s*:)", r"?\1\2", grammar)
    changed = grammar.replace(*_FLOAT)
    if count != len(_PASS_THROUGH) or changed == grammar:
        raise RuntimeError("cel-python's grammar has changed: parkway needs cel-python>=0.5,<0.6")
    return Lark(
        changed,
        parser="lalr",
        start="expr",
        lexer_callbacks={"IDENT": _boolean_literal},
        maybe_placeholders=False,
        priority="invert",
    )


def _grammar_file() -> Path:
    """Found without importing celpy, which brings its runners and takes as long as everything here."""
    spec = find_spec("celpy")
    if spec is None or spec.origin is None:
        raise RuntimeError("cel-python is not installed: pip install 'cel-python>=0.5,<0.6'")
    return Path(spec.origin).with_name("cel.lark")


def _boolean_literal(token: Token) -> Token:
    if token in ("true", "false"):
        return Token.new_borrow_pos("BOOL_LIT", token.value, token)
    return token


def _syntax_error(text: str, error: UnexpectedInput) -> TriggerLoadError:
    position = min(error.pos_in_stream or 0, len(text))
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        return TriggerLoadError("syntax", "the expression ends too early: something is missing", text, len(text))
    found = text[position : position + 1]
    if isinstance(error, UnexpectedToken):
        word = re.compile(r"\w+|.", re.DOTALL).match(text, position)
        found = word.group() if word else found
    elif not isinstance(error, UnexpectedCharacters):
        position = 0
    hint = _HINTS.get(found, "an operator, an operand or a bracket is missing before it, or it is too much")
    return TriggerLoadError("syntax", f"unexpected `{shortened(found)}`: {hint}", text, position)


def _check_words(text: str, found: Scan, tree: Any) -> None:
    """The grammar takes `a inb` for `a in b`: every word must have become one token."""
    tokens: dict[int, Token] = {}
    pending = [tree]
    while pending:
        part = pending.pop()
        if isinstance(part, Tree):
            pending.extend(part.children)
        elif part.start_pos is not None:
            tokens[part.start_pos] = part
    for position, word in found.words:
        token = tokens.get(position)
        if token is not None and token.type == "IDENT" and token == word and word not in _KEYWORDS:
            continue
        if token is not None and token.type == "IDENT":
            raise TriggerLoadError("syntax", f"`{word}` is a keyword: as a key, write x['{word}']", text, position)
        if word not in _KEYWORDS:
            hint = _HINTS.get(word, "an operator is missing before it")
            raise TriggerLoadError("syntax", f"unexpected `{shortened(word)}`: {hint}", text, position)
