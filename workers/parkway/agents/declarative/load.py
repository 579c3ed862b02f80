"""From a YAML file to the agent that it declares."""

import re
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from parkway.agents.agent import Agent
from parkway.agents.declarative.document import Document, Place, read_document
from parkway.agents.declarative.handlers import action_method
from parkway.agents.declarative.problems import problems
from parkway.agents.declarative.resources import ResourceMaker
from parkway.agents.declarative.scope import Scope, telling
from parkway.agents.declarative.spec import ActionSpec, AgentSpec, DocumentSpec
from parkway.agents.errors import AgentError, did_you_mean

_SOURCE: Final = re.compile(r"(?P<path>.+\.ya?ml)(?::(?P<name>[^/:]*))?", re.IGNORECASE)


def is_declared(source: str) -> bool:
    """Whether `source` is `FILE.yaml` or `FILE.yaml:NAME`."""
    return _SOURCE.fullmatch(source) is not None


def load_declared(source: str) -> type[Agent]:
    """Make the class of an agent that a YAML file declares; a NAME is needed where it has several.

    Modules that the file names are imported from its folder, the current folder or Python's path. Raises AgentError
    that names the file, the line and the reason.
    """
    found = _SOURCE.fullmatch(source)
    if found is None:
        raise AgentError(f"agent {source!r}: a file that ends in .yaml, such as agent.yaml")
    document = read_document(Path(found["path"]))
    try:
        whole = DocumentSpec.model_validate(document.data)
    except ValidationError as error:
        raise AgentError(problems(document, error)) from error
    names = [agent.name for agent in whole.agents]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise AgentError(f"{document.at(('agents', number))}: two agents are called {name!r}")
    number = _chosen(source, names, found["name"])
    return _agent_class(document, whole, whole.agents[number], ("agents", number))


def _chosen(source: str, names: list[str], name: str | None) -> int:
    if name is None and len(names) == 1:
        return 0
    if name in names:
        return names.index(name)
    hint = did_you_mean(name, names) if name else ""
    said = f"has no agent {name!r}" if name else f"has {len(names)} agents: write {source}:{names[0]}"
    raise AgentError(f"agent {source!r}: the file {said}{hint or '; there are: ' + ', '.join(names)}")


def _agent_class(document: Document, whole: DocumentSpec, agent: AgentSpec, place: Place) -> type[Agent]:
    where = document.at(place)
    scope = Scope(document, whole, agent, place)
    maker = ResourceMaker(scope)
    members: dict[str, Any] = {"__doc__": agent.description, "__module__": __name__}
    # No attributes that a handler could see: tools are functions. Those that no chat model has can be requested too.
    members |= {f"tools.{name}": tool for name, tool in maker.tools().items()}
    members |= maker.resources()
    for spec, at in _actions(document, whole, agent, place):
        method = spec.name.replace("-", "_")
        if method in members:
            raise AgentError(f"{at}: actions[{spec.name}]: a resource or another action has this name")
        members[method] = action_method(scope, maker, spec, at)
    for hook in ("lifespan", "redact"):
        reference = getattr(agent, hook)
        if reference is not None:
            members[hook] = _hook(scope, hook, reference, document.at((*place, hook)))
    with telling(where):
        return type(agent.name, (Agent,), members)


def _actions(document: Document, whole: DocumentSpec, agent: AgentSpec, place: Place) -> list[tuple[ActionSpec, str]]:
    shared = {spec.name: (spec, document.at(("actions", number))) for number, spec in enumerate(whole.actions)}
    found = []
    for number, each in enumerate(agent.actions):
        at = document.at((*place, "actions", number))
        if isinstance(each, ActionSpec):
            found.append((each, at))
        elif each in shared:
            found.append(shared[each])
        else:
            hint = did_you_mean(each, shared) or f"; there are: {', '.join(shared) or 'none'}"
            raise AgentError(f"{at}: no action beside agents is called {each!r}{hint}")
    return found


def _hook(scope: Scope, hook: str, reference: str, where: str) -> Any:
    function = scope.resolve(f"{where}: {hook}", reference)
    if isinstance(function, type) or not callable(function):
        raise AgentError(f"{where}: {hook}: {reference} is no function")
    if hook == "redact":
        return staticmethod(function)
    return function
