"""Opening an agent's models before the first request: what one lacks (a key, a package, an address) is said at once."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

from pydantic_ai.exceptions import UserError

from parkway.agents.errors import AgentError
from parkway.runtime.logs import get_logger
from parkway.workers.actions.providers import quoted

_SECONDS: Final = 60.0  # a factory of the user's may ask somebody
_HINT: Final = " To try Pydantic AI without an API key"  # its test model is no way out of a worker


class Opening(NamedTuple):
    """A model, or one of its fallbacks, and why it cannot be asked; None: it can."""

    label: str
    problem: str | None


@runtime_checkable
class AsksModels(Protocol):
    """An action that asks models."""

    name: str

    async def open(self) -> Mapping[str, Sequence[Opening]]:
        """Open every model and fallback, by the name of the resource. Raises nothing that a model raises."""
        ...


async def open_models(action: object) -> None:
    """Open what the action will ask; does nothing for one that asks no model.

    Raises AgentError for a resource of which neither the model nor a fallback can be opened: every request to it would
    fail. A warning says which others are missing.
    """
    if not isinstance(action, AsksModels):
        return
    for name, openings in (await action.open()).items():
        broken = [one for one in openings if one.problem is not None]
        if not broken:
            continue
        reasons = "; ".join(f"{one.label}: {one.problem}" for one in broken)
        if len(broken) == len(openings):
            raise AgentError(
                f"{action.name} model {name!r} cannot be opened: {reasons} (in the environment of this worker; or have "
                f"{action.name!r} run elsewhere: parkway worker --action NAME runs only the actions that you name)"
            )
        left = ", ".join(one.label for one in openings if one.problem is None)
        get_logger("worker").warning(
            "model_not_opened", model=name, reason=reasons, consequence=f"only {left} is asked"
        )


async def opening(label: str, make: Callable[[], Awaitable[Any]]) -> Opening:
    """Make one model."""
    try:
        async with asyncio.timeout(_SECONDS):
            await make()
    except TimeoutError:
        return Opening(label, f"it is not made within {_SECONDS:g} s")
    except Exception as error:  # a factory is the user's code
        text = quoted(error, ()).partition(_HINT)[0]
        return Opening(label, text if isinstance(error, UserError | ImportError) else f"{type(error).__name__}: {text}")
    return Opening(label, None)
