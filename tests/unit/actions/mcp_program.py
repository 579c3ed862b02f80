"""An MCP server for tests: `python mcp_program.py` speaks stdio, `python mcp_program.py PORT` streamable HTTP."""

import asyncio
import os
import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from starlette.requests import Request
from starlette.responses import PlainTextResponse

server = MCPServer("tests")


def note(text: str) -> None:
    with Path(os.environ["TEST_CALLS"]).open("a") as file:
        file.write(text + "\n")


@server.tool()
def add(first: int, second: int) -> int:
    """Adds two numbers."""
    note("add")
    return first + second


@server.tool()
def describe(name: str) -> dict[str, str]:
    """Gives an object."""
    return {"name": name, "token": os.environ.get("TOKEN", "none"), "home": os.environ.get("TEST_SECRET", "hidden")}


@server.tool()
def refuse(what: str) -> str:
    """Never works."""
    raise ToolError(f"{what} is not possible")


@server.tool()
async def wait(seconds: float) -> str:
    """Takes its time."""
    await asyncio.sleep(seconds)
    return "done"


@server.tool(name="die.once", annotations=ToolAnnotations(idempotent_hint=True))
def die_once() -> str:
    """Kills its server, the first time."""
    note("die")
    if Path(os.environ["TEST_CALLS"]).read_text().splitlines().count("die") == 1:
        os._exit(3)
    return "alive"


@server.tool()
def die() -> str:
    """Kills its server."""
    note("die")
    os._exit(3)


@server.custom_route("/healthz", methods=["GET"])
async def health(_request: Request) -> PlainTextResponse:
    return PlainTextResponse("ok")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run()
