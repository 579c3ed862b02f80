"""What tests of agents are made of: `from parkway.testing import AgentTest, ScriptedModel`.

Imported by the pytest plugin in every pytest run: nothing heavy is imported before it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from parkway.testing.agent_test import AgentTest, SyncAgentTest
    from parkway.testing.crashes import CrashError, Survived, run_scenario, run_scenario_sync
    from parkway.testing.errors import AgentTestError, NotQuietError, ScriptError
    from parkway.testing.scripted import After, CallTool, Question, ScriptedModel
    from parkway.testing.trace import Trace
    from parkway.testing.views import DeadLetter

__all__ = [
    "After",
    "AgentTest",
    "AgentTestError",
    "CallTool",
    "CrashError",
    "DeadLetter",
    "NotQuietError",
    "Question",
    "ScriptError",
    "ScriptedModel",
    "Survived",
    "SyncAgentTest",
    "Trace",
    "run_scenario",
    "run_scenario_sync",
]

_WHERE: Final = {
    "AgentTest": "agent_test",
    "SyncAgentTest": "agent_test",
    "CrashError": "crashes",
    "Survived": "crashes",
    "run_scenario": "crashes",
    "run_scenario_sync": "crashes",
    "AgentTestError": "errors",
    "NotQuietError": "errors",
    "ScriptError": "errors",
    "After": "scripted",
    "CallTool": "scripted",
    "Question": "scripted",
    "ScriptedModel": "scripted",
    "Trace": "trace",
    "DeadLetter": "views",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
