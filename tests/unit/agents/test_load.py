import sys
import textwrap

import pytest

from parkway.agents import AgentError, definition_of, load_agent
from parkway.agents.handler import binding_of

SUPPORT = """
from parkway.agents import Agent, action
class Support(Agent):
    @action("ticket")
    def triage(self, event, ctx): ...
ready = Support()
class Other: ...
def build(): ...
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An own current folder; modules imported from it are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))


def message_of(source):
    with pytest.raises(AgentError) as caught:
        load_agent(source)
    return str(caught.value)


def test_a_class_and_an_instance_from_the_current_folder(folder):
    write(folder, "load_support.py", SUPPORT)
    cls = load_agent("load_support:Support")
    assert cls.__name__ == "Support"
    assert isinstance(load_agent("load_support:ready"), cls)


def test_annotations_as_text_are_resolved(folder):
    text = SUPPORT.replace("import Agent", "import Agent, Context").replace(
        "event, ctx", "ticket: Ticket, ctx: Context"
    )
    head = "from __future__ import annotations\nfrom pydantic import BaseModel\n"
    write(folder, "load_future.py", f"{head}{text}\nclass Ticket(BaseModel):\n    amount: float\n")
    agent = load_agent("load_future:Support")
    assert binding_of("x", definition_of(agent).action("triage").function).model.__name__ == "Ticket"


def test_a_module_in_a_package(folder):
    write(folder, "load_package/agent.py", SUPPORT)
    assert load_agent("load_package.agent:Support").__name__ == "Support"


@pytest.mark.parametrize("source", ["", "support", "support:", ":Support", "support:A.b", "a:b:c"])
def test_another_form(source):
    assert message_of(source) == f"agent {source!r}: write MODULE:AGENT, such as support.agent:Support, or agent.yaml"


def test_a_file_instead_of_a_module():
    assert message_of("./app/agent.py:Support").endswith("a module, not a file; write app.agent:Support")


def test_no_such_module(folder):
    write(folder, "load_support.py", SUPPORT)
    message = message_of("load_suport:Support")
    assert message.startswith("agent 'load_suport:Support': no module 'load_suport' (did you mean load_support?)")
    assert str(folder) in message


def test_no_such_module_in_a_package(folder):
    write(folder, "load_package/agent.py", SUPPORT)
    assert "no module 'load_package.agnt'" in message_of("load_package.agnt:Support")


def test_a_missing_dependency_is_not_taken_for_the_module(folder):
    write(folder, "load_needy.py", "import not_installed_here")
    assert "load_needy needs 'not_installed_here'" in message_of("load_needy:Support")


def test_no_such_attribute(folder):
    write(folder, "load_support.py", SUPPORT)
    assert message_of("load_support:Suport").endswith("module load_support has no 'Suport' (did you mean Support?)")
    assert message_of("load_support:xyz").endswith("has no 'xyz'; its agents: Support, ready")


def test_agents_that_a_module_only_imports_are_not_offered(folder):
    write(folder, "load_support.py", f"from parkway.agents import *\n{SUPPORT}")
    assert message_of("load_support:xyz").endswith("has no 'xyz'; its agents: Support, ready")


@pytest.mark.parametrize(
    ("name", "kind"), [("Other", "the class Other"), ("build", "a function"), ("Agent", "the class Agent")]
)
def test_not_an_agent(folder, name, kind):
    write(folder, "load_support.py", SUPPORT)
    assert f"{name} is {kind}, not an Agent" in message_of(f"load_support:{name}")


def test_a_module_that_raises(folder):
    write(folder, "load_broken.py", "1 / 0")
    assert message_of("load_broken:A") == (
        "agent 'load_broken:A': importing load_broken raised ZeroDivisionError: division by zero"
        f" ({folder / 'load_broken.py'}:1)"
    )


def test_an_agent_error_keeps_its_own_words(folder):
    write(folder, "load_shadow.py", SUPPORT.replace("def triage", "def chat"))
    assert message_of("load_shadow:Support").startswith(
        "agent 'load_shadow:Support': Support.chat: 'chat' is a built-in action"
    )
