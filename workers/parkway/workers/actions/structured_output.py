"""Reads the JSON value that a chat request with an `output_schema` asks for out of a model's text."""

import re
from collections.abc import Mapping
from typing import Any, Final

from parkway.agents.output_type import OutputType
from parkway.schemas import jsonio
from parkway.workers.actions.json_schema import first_problem

_FENCED: Final = re.compile(r"```(?:json|JSON)?[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL)


class OutputInvalidError(ValueError):
    """A reply that is not the JSON asked for; the message is made for the model to read."""


def read_output(text: str, schema: Mapping[str, Any], output_type: OutputType | None = None) -> str:
    """Give the JSON text in `text`: all of it, or else its only fenced block.

    With an `output_type` the value must be one of that as well, of which the schema may not say everything.
    Raises OutputInvalidError when it is no JSON or does not fit, SchemaError for an unusable schema.
    """
    fenced = _FENCED.findall(text)
    document = text.strip()
    try:
        value = jsonio.loads(document)
    except jsonio.JsonError as error:
        if len(fenced) != 1:
            raise OutputInvalidError(str(error)) from None
        document = fenced[0].strip()
        try:
            value = jsonio.loads(document)
        except jsonio.JsonError as fenced_error:
            raise OutputInvalidError(str(fenced_error)) from None
    problem = first_problem(value, schema)
    if problem is not None:
        raise OutputInvalidError(problem)
    if output_type is not None:
        try:
            output_type.read(document)
        except ValueError as error:
            raise OutputInvalidError(str(error)) from None
    return document
