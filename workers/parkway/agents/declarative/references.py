"""`module:name`: what a YAML file takes from Python."""

import builtins
from pathlib import Path
from typing import Any

from parkway.agents.errors import AgentError, did_you_mean
from parkway.agents.importing import import_module


def resolve(where: str, reference: str, folder: Path) -> Any:
    """Import what `module:name` (or `module:Class.method`) names; the module's folder may be `folder`.

    Raises AgentError that begins with `where`.
    """
    module_name, _, qualified = reference.partition(":")
    found: Any = import_module(where, module_name, folder)
    holder = f"module {module_name}"
    for part in qualified.split("."):
        if not hasattr(found, part):
            names = [name for name in vars(found) if not name.startswith("_")] if hasattr(found, "__dict__") else []
            raise AgentError(f"{where}: {holder} has no {part!r}{did_you_mean(part, names)}")
        found = getattr(found, part)
        holder = f"{module_name}:{part}"
    return found


def resolve_exception(where: str, name: str, folder: Path) -> type[Exception]:
    """Give a built-in exception by its name, any other by `module:Class`. Raises AgentError."""
    if ":" in name:
        found = resolve(where, name, folder)
    else:
        found = getattr(builtins, name, None)
        if found is None:
            known = [each for each in dir(builtins) if isinstance(getattr(builtins, each), type)]
            raise AgentError(
                f"{where}: no built-in exception is called {name!r}{did_you_mean(name, known)}; write module:Class "
                "for one that is imported"
            )
    if not (isinstance(found, type) and issubclass(found, Exception)):
        raise AgentError(f"{where}: {name!r} is no class of exceptions")
    return found
