"""`MODULE:AGENT`, or a YAML file: from the command line's words to an agent."""

import inspect
from types import ModuleType
from typing import TypeGuard

from parkway.agents.agent import Agent
from parkway.agents.declarative import is_declared, load_declared
from parkway.agents.errors import AgentError, did_you_mean
from parkway.agents.importing import import_module


def load_agent(source: str) -> type[Agent] | Agent:
    """Import `MODULE:AGENT` and give the class or the instance. The current folder is importable.

    A path that ends in `.yaml` or `.yml` is an agent in YAML (`FILE:NAME` where the file has several): the class that
    it declares. Raises AgentError for a source of another form, a module or file that is not there or raises, and for
    a name that is not there or no agent.
    """
    if is_declared(source):
        return load_declared(source)
    module_name, colon, name = source.partition(":")
    if not colon or not module_name or not name.isidentifier():
        raise AgentError(f"agent {source!r}: write MODULE:AGENT, such as support.agent:Support, or agent.yaml")
    if "/" in module_name or module_name.endswith(".py"):
        dotted = module_name.removesuffix(".py").strip("./").replace("/", ".")
        raise AgentError(f"agent {source!r}: a module, not a file; write {dotted}:{name}")
    module = import_module(f"agent {source!r}", module_name)
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


def _agents_in(module: ModuleType) -> list[str]:
    """Its own: what it only imports (`import *`) is not meant, unless there is nothing else."""
    found = {name: value for name, value in vars(module).items() if _is_agent(value)}
    own = [name for name, value in found.items() if _home(value) == module.__name__]
    return own or list(found)


def _home(agent: type[Agent] | Agent) -> str:
    return (agent if isinstance(agent, type) else type(agent)).__module__


def _is_agent(value: object) -> TypeGuard[type[Agent] | Agent]:
    if isinstance(value, type):
        return issubclass(value, Agent) and value is not Agent
    return isinstance(value, Agent)


def _kind(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"
