"""`MODULE:AGENT`: from the command line's words to an agent."""

import importlib
import inspect
import sys
import traceback
from pathlib import Path
from sysconfig import get_paths
from types import ModuleType
from typing import TypeGuard

from parkway.agents.agent import Agent
from parkway.agents.errors import AgentError, did_you_mean


def load_agent(source: str) -> type[Agent] | Agent:
    """Import `MODULE:AGENT` and give the class or the instance. The current folder is importable.

    Raises AgentError for a source of another form, a module that is not there or raises, and for a name
    that is not there or no agent.
    """
    module_name, colon, name = source.partition(":")
    if not colon or not module_name or not name.isidentifier():
        raise AgentError(f"agent {source!r}: write MODULE:AGENT, such as support.agent:Support")
    if "/" in module_name or module_name.endswith(".py"):
        dotted = module_name.removesuffix(".py").strip("./").replace("/", ".")
        raise AgentError(f"agent {source!r}: a module, not a file; write {dotted}:{name}")
    module = _import(source, module_name)
    found = getattr(module, name, None)
    if _is_agent(found):
        _check_instantiable(source, name, found)
        return found
    agents = _agents_in(module)
    hint = did_you_mean(name, agents) or f"; its agents: {', '.join(agents) or 'none'}"
    if not hasattr(module, name):
        raise AgentError(f"agent {source!r}: module {module_name} has no {name!r}{hint}")
    raise AgentError(f"agent {source!r}: {name} is {_kind(found)}, not an Agent{hint}")


def _check_instantiable(source: str, name: str, agent: type[Agent] | Agent) -> None:
    """A worker makes the instance of a class, without arguments."""
    if not isinstance(agent, type):
        return
    needed = [
        parameter.name
        for parameter in inspect.signature(agent).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    if needed:
        raise AgentError(
            f"agent {source!r}: {name} takes {', '.join(needed)}: write agent = {name}({needed[0]}=...) in the module, "
            f"and name that: {source.partition(':')[0]}:agent"
        )


def _import(source: str, module_name: str) -> ModuleType:
    folder = str(Path.cwd())
    # It stays there: what handlers import later must be found in the same place.
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return importlib.import_module(module_name)
    except AgentError as error:
        raise AgentError(f"agent {source!r}: {error}") from error
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise AgentError(f"agent {source!r}: {module_name} needs {error.name!r}: {error}") from error
        hint = did_you_mean(module_name, _modules_here())
        raise AgentError(
            f"agent {source!r}: no module {error.name!r}{hint}; looked in {folder} and on Python's path"
        ) from error
    except Exception as error:
        raise AgentError(
            f"agent {source!r}: importing {module_name} raised {type(error).__name__}: {error}{_place(error)}"
        ) from error


def _place(error: Exception) -> str:
    """Return ` (file:line)` of the line of the user's code that raised; nothing when the error's text has it."""
    if isinstance(error, SyntaxError):
        return ""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_library(frame.filename)]
    return f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""


def _is_library(file: str) -> bool:
    return file.startswith("<") or "site-packages" in file or Path(file).is_relative_to(get_paths()["stdlib"])


def _modules_here() -> list[str]:
    here = Path.cwd()
    packages = [path.parent.name for path in here.glob("*/__init__.py")]
    return [path.stem for path in here.glob("*.py")] + packages


def _agents_in(module: ModuleType) -> list[str]:
    return [name for name, value in vars(module).items() if _is_agent(value)]


def _is_agent(value: object) -> TypeGuard[type[Agent] | Agent]:
    if isinstance(value, type):
        return issubclass(value, Agent) and value is not Agent
    return isinstance(value, Agent)


def _kind(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"
