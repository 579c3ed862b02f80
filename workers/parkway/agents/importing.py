"""Imports of an author's modules, whose errors say what to do."""

import importlib
import sys
import traceback
from pathlib import Path
from sysconfig import get_paths
from types import ModuleType

from parkway.agents.errors import AgentError, did_you_mean


def import_module(where: str, name: str, folder: Path | None = None) -> ModuleType:
    """Import a module of the current folder, of `folder` (which comes first), or of Python's path.

    The folders stay importable: what handlers import later must be found in the same place. Raises AgentError that
    begins with `where`, for a module that is not there or raises.
    """
    folders = [str(each) for each in (folder, Path.cwd()) if each is not None]
    for each in reversed(folders):
        if each not in sys.path:
            sys.path.insert(0, each)
    try:
        return importlib.import_module(name)
    except AgentError as error:
        raise AgentError(f"{where}: {error}") from error
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise AgentError(f"{where}: {name} needs {error.name!r}: {error}") from error
        hint = did_you_mean(name, [module for each in folders for module in _modules_in(Path(each))])
        looked = " and ".join(dict.fromkeys(folders))
        raise AgentError(f"{where}: no module {error.name!r}{hint}; looked in {looked} and on Python's path") from error
    except Exception as error:
        raise AgentError(f"{where}: importing {name} raised {type(error).__name__}: {error}{_place(error)}") from error


def _place(error: Exception) -> str:
    """Return ` (file:line)` of the line of the user's code that raised; nothing when the error's text has it."""
    if isinstance(error, SyntaxError):
        return ""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_library(frame.filename)]
    return f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""


def _is_library(file: str) -> bool:
    return file.startswith("<") or "site-packages" in file or Path(file).is_relative_to(get_paths()["stdlib"])


def _modules_in(folder: Path) -> list[str]:
    packages = [path.parent.name for path in folder.glob("*/__init__.py")]
    return [path.stem for path in folder.glob("*.py")] + packages
