"""Tool requests, and the action that answers them."""

import time
from typing import Any

from parkway.agents import Tool, tool
from parkway.schemas.events import FunctionCall, ToolCall, ToolRequestEvent, ToolResponseEvent
from parkway.workers.actions.tool import ToolAction
from parkway.workers.effects import Effects, Task


def call(name: str, call_id: str = "c1", **arguments: Any) -> ToolCall:
    return ToolCall(id=call_id, function=FunctionCall(name=name, arguments=arguments), original_id=f"p-{call_id}")


def new(*calls: ToolCall, seconds: float = 30, **attributes: Any) -> Task:
    request = ToolRequestEvent(model="assistant", tool_calls=list(calls), **attributes)
    return Task(request.to_dict(), int((time.time() + seconds) * 1000))


def action(*tools: Tool[..., Any], **options: Any) -> ToolAction:
    return ToolAction({each.name: each for each in tools}, **options)


def response_of(effects: Effects) -> ToolResponseEvent:
    assert isinstance(effects.response, ToolResponseEvent)
    assert effects.failure is None
    assert effects.park is None
    assert effects.events == []
    return effects.response


@tool
async def echo(text: str) -> str:
    """Says it again."""
    return text


@tool
def broken() -> str:
    """Never works."""
    raise KeyError("host=db password=x")
