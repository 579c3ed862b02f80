"""What a step of a handler is: its name, its result as JSON, and the log that remembers it."""

import inspect
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, Final, Protocol, get_type_hints

from pydantic import TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError

from parkway.agents.threads import run_in_thread
from parkway.schemas import jsonio
from parkway.schemas.json_form import short

_LONGEST_NAME: Final = 200


class StepError(ValueError):
    """A step that cannot be done as it is written; the message names it and says the way out."""


class StepLog(Protocol):
    """The finished steps of one record, for one attempt at it. Used on the event loop only."""

    largest: int  # bytes of one result's JSON

    async def find(self, name: str) -> bytes | None:
        """The JSON of the result that is recorded under this name; returns when that is committed."""

    async def record(self, name: str, result: bytes) -> None:
        """Record a result; returns when it is committed. Raises StepError when Kafka refuses it."""

    def close(self) -> None:
        """The attempt is over: what still waits here gets a ContextError."""


async def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Do the work of a step: a coroutine function on the event loop, any other in a thread."""
    if inspect.iscoroutinefunction(function):
        return await function(*arguments)
    return await run_in_thread(function, *arguments)


def check_name(name: object) -> None:
    """Raise StepError for what is no name of a step."""
    if not isinstance(name, str) or not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise StepError(f"ctx.step({short(name)}, ...): a name has 1 to {_LONGEST_NAME} printable characters")


class Result:
    """How the result of one step is written and read: by its type, or as plain JSON.

    The type is `returns`, or else what the function's annotation says. Raises StepError for a type with no JSON form.
    """

    def __init__(self, name: str, function: Callable[..., Any], returns: Any) -> None:
        self._name = name
        self._type = returns if returns is not None else _annotated(function)
        try:
            self._adapter = _adapter(self._type) if self._type is not None else None
        except PydanticSchemaGenerationError:
            self._adapter = None
            if returns is not None:
                raise StepError(f"step {name!r}: returns={returns!r} has no JSON form: use a pydantic model") from None

    def encode(self, value: Any, largest: int) -> bytes:
        """The JSON of a result. Raises StepError when there is none that reads back as the same, or it is too large."""
        found = self._typed(self._adapter, value) if self._adapter is not None else self._plain(value)
        if len(found) > largest:
            raise StepError(
                f"step {self._name!r}: its result has {len(found):,} bytes, the limit is {largest:,} "
                "(PARKWAY_MAX_PARKED_BYTES): return what names it, such as an id"
            )
        return found

    def decode(self, found: bytes) -> Any:
        """Read a recorded result. Raises StepError for one that another version of the code has written."""
        if self._adapter is None:
            return jsonio.loads(found)
        try:
            return self._adapter.validate_json(found)
        except ValueError as error:
            raise StepError(
                f"step {self._name!r}: what is recorded is no {self._type}: {error}; "
                "give the step another name when its result changes"
            ) from None

    def _typed(self, adapter: TypeAdapter[Any], value: Any) -> bytes:
        try:
            found = adapter.dump_json(value, warnings=False)  # they quote the value; what counts is said below
            adapter.validate_json(found)
        except ValueError:
            raise StepError(
                f"step {self._name!r}: its result cannot be written as {self._type} and read again: return what its "
                "annotation says, or change that (numbers must be finite, text valid Unicode)"
            ) from None
        return found

    def _plain(self, value: Any) -> bytes:
        try:
            found = jsonio.dumps(value)
            same = jsonio.loads(found) == value
        except (TypeError, jsonio.JsonError):
            same = False
        if not same:
            raise StepError(
                f"step {self._name!r}: its result {short(value)} is no plain JSON: return dicts, lists, text, numbers; "
                "or annotate the function's result, or say returns=MyModel"
            )
        return found


def _annotated(function: Callable[..., Any]) -> Any:
    if isinstance(function, partial):
        return _annotated(function.func)
    try:
        found = get_type_hints(function).get("return")
    except Exception:  # names that are not there at run time
        return None
    return None if found in (None, Any, type(None)) else found


@lru_cache(maxsize=1000)
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    return TypeAdapter(annotation)
