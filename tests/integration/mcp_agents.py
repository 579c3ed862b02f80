"""An agent whose tools are those of MCP servers. The workers import this module by name."""

import os
import sys
from pathlib import Path

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from parkway.agents import Agent, ChatModel, MCPServer

PROGRAM = Path(__file__).parents[1] / "unit" / "actions" / "mcp_program.py"


async def words(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """A rule, no model: each word of the request is a tool to call, one a round; then what they gave."""
    asked = next(part.content for message in messages for part in message.parts if part.part_kind == "user-prompt")
    seen = [str(part.content) for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    left = str(asked).split()[len(seen) :]
    if not left:
        return ModelResponse(parts=[TextPart(" | ".join(seen))])
    assert left[0] in {tool.name for tool in info.function_tools}
    arguments = {"first": 1, "second": 2} if left[0].endswith("add") else {}
    return ModelResponse(parts=[ToolCallPart(left[0], arguments)])


class Served(Agent):
    """One server that each worker starts, one that is somewhere."""

    local = MCPServer.stdio(
        sys.executable,
        [str(PROGRAM)],
        env=lambda: {"TEST_CALLS": os.environ["TEST_CALLS"]},
        prefix="my",
        connect_timeout=30,
    )
    remote = MCPServer.http(f"http://127.0.0.1:{os.environ.get('TEST_MCP_PORT', '1')}/mcp", connect_timeout=30)
    here = ChatModel(lambda: FunctionModel(words), tools=[local])
    there = ChatModel(lambda: FunctionModel(words), tools=[remote], max_retries=1)
