"""The questions of a decision, typed: `Noul` (yes or no), `Choice`, `Score`, and how they are written (DESIGN 7.6).

The wire form is System One's: `{type: noul|choice|score, instructions?, criteria?}`. Text, maps and lists may stand
where a description is asked for.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, TypeAlias

from parkway.schemas.json_form import json_form, kind_of, short

Json: TypeAlias = Any


class QuestionError(ValueError):
    """A question that cannot be asked: the message names it, what is wrong and the way out."""


class Question:
    """Base of `Noul`, `Choice` and `Score`: there are no others."""

    __slots__ = ()

    instructions: Json


@dataclass(frozen=True, slots=True)
class Noul(Question):
    """A yes/no question: `Noul("Does the customer want money back?")`.

    `yes` and `no` may describe the two outcomes. Raises QuestionError when nothing says what is asked.
    """

    instructions: Json = None
    yes: Json = None
    no: Json = None

    def __post_init__(self) -> None:
        if self.instructions is None and self.yes is None and self.no is None:
            raise QuestionError("a noul question asks nothing: give it instructions, as in Noul('Is this spam?')")

    def __json_form__(self) -> dict[str, Any]:
        criteria = _present(true=self.yes, false=self.no)
        return {"type": "noul", **_present(instructions=self.instructions, criteria=criteria or None)}


@dataclass(frozen=True, slots=True, init=False)
class Choice(Question):
    """A question that picks one option: `Choice(["billing", "technical", "other"], "Which queue?")`.

    Options are names, or a map of names to descriptions (None: the name says it all). A model always picks one, so
    give it an option such as `other` for what fits none. Raises QuestionError for fewer than two options.
    """

    options: Mapping[str, Json]
    instructions: Json

    def __init__(self, options: Mapping[str, Json] | Iterable[str], instructions: Json = None) -> None:
        if isinstance(options, str):
            raise QuestionError(f"Choice({options!r}): a list of options, or a map of options to descriptions")
        described = dict(options) if isinstance(options, Mapping) else _named(options)
        if len(described) < 2:
            raise QuestionError(f"a choice needs two options or more, got {len(described)}")
        for option in described:
            if not isinstance(option, str) or not option:
                raise QuestionError(f"a choice's option is text that is not empty, not {kind_of(option)}")
        object.__setattr__(self, "options", described)
        object.__setattr__(self, "instructions", instructions)

    def __json_form__(self) -> dict[str, Any]:
        return {"type": "choice", **_present(instructions=self.instructions), "criteria": dict(self.options)}


@dataclass(frozen=True, slots=True, init=False)
class Score(Question):
    """A question that rates on ordered levels: `Score(["calm", "annoyed", "furious"], "How angry?")`.

    `levels` describe them from the lowest, which is 0. Raises QuestionError for fewer than two.
    """

    levels: tuple[Json, ...]
    instructions: Json

    def __init__(self, levels: Iterable[Json], instructions: Json = None) -> None:
        if isinstance(levels, str | Mapping):
            raise QuestionError(f"Score({short(levels)}): a list with the description of each level")
        object.__setattr__(self, "levels", tuple(levels))
        object.__setattr__(self, "instructions", instructions)
        if len(self.levels) < 2:
            raise QuestionError(f"a score needs two levels or more, got {len(self.levels)}")

    def __json_form__(self) -> dict[str, Any]:
        return {"type": "score", **_present(instructions=self.instructions), "criteria": list(self.levels)}


KIND: Final[dict[type[Question], str]] = {Noul: "noul", Choice: "choice", Score: "score"}
# What others call them; written are ours.
_ALIASES: Final = {"boolean": "noul", "predicate": "noul", "yes_no": "noul", "scale": "score"}
_MEMBERS: Final = ("type", "instructions", "criteria")


def read_questions(questions: Mapping[str, Any]) -> dict[str, Question]:
    """Wire form -> questions by name. Raises QuestionError that names the question."""
    return {name: read_question(name, wire) for name, wire in questions.items()}


def read_question(name: str, wire: Any) -> Question:
    """One question in its wire form. Raises QuestionError that begins with its name."""
    if not name.strip():
        raise QuestionError("a question has no name: it stands before its members, as in {'spam': {'type': 'noul'}}")
    try:
        return _read(json_form(wire, "question", 3))
    except ValueError as error:
        raise QuestionError(f"question {short(name)}: {error}") from None


def checked_questions(questions: object) -> dict[str, Question]:
    """Questions as a class declares them, typed or in wire form. Raises QuestionError that names the question."""
    if not isinstance(questions, Mapping):
        raise QuestionError(f"questions={short(questions)}: a map of names, such as {{'spam': Noul('Is it spam?')}}")
    for name in questions:
        if not isinstance(name, str):
            raise QuestionError(f"questions: a name is text, not {short(name)}")
    return read_questions(questions)


def _read(wire: Any) -> Question:
    if not isinstance(wire, dict):
        raise QuestionError(f"expected an object with a type, got {kind_of(wire)}")
    for member in wire:
        if member not in _MEMBERS:
            raise QuestionError(
                f"unknown member {short(member)}{_hint(member, _MEMBERS)}; known: {', '.join(_MEMBERS)}"
            )
    given = wire.get("type")
    kind = _ALIASES.get(given, given) if isinstance(given, str) else given
    instructions, criteria = wire.get("instructions"), wire.get("criteria")
    if isinstance(instructions, bool | int | float):
        raise QuestionError(f"instructions: text, an object or a list, got {kind_of(instructions)}")
    if kind == "noul":
        return _read_noul(instructions, criteria)
    if kind == "choice":
        if not isinstance(criteria, dict | list):
            raise QuestionError(f"criteria: a map of options to descriptions, got {kind_of(criteria)}")
        return Choice(criteria, instructions)
    if kind == "score":
        if not isinstance(criteria, list):
            raise QuestionError(f"criteria: a list with the description of each level, got {kind_of(criteria)}")
        return Score(criteria, instructions)
    kinds = tuple(KIND.values())
    hint = _hint(given, kinds) if isinstance(given, str) else ""
    raise QuestionError(f"type {short(given)}{hint}: one of {', '.join(kinds)}")


def _read_noul(instructions: Json, criteria: Any) -> Noul:
    if criteria is None:
        return Noul(instructions)
    if not isinstance(criteria, dict) or not criteria.keys() <= {"true", "false"}:
        raise QuestionError(f"criteria: a map with the members true and false, got {kind_of(criteria)}")
    return Noul(instructions, yes=criteria.get("true"), no=criteria.get("false"))


def _named(options: Iterable[str]) -> dict[str, Json]:
    names = list(options)
    for name in names:
        if not isinstance(name, str):
            raise QuestionError(f"a choice's option is text, not {kind_of(name)}")
        if names.count(name) > 1:
            raise QuestionError(f"the option {short(name)} stands there twice")
    return dict.fromkeys(names)


def _present(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _hint(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name[:100], known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
