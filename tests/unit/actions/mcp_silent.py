"""An MCP server by stdio, for tests, that says hello and then does not say which tools it has. Counts who asks."""

import json
import sys
from pathlib import Path

for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        server = {"name": "silent", "version": "1"}
        version = asked["params"]["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)  # noqa: T201
    elif asked.get("method") == "tools/list":
        with Path(sys.argv[1]).open("a") as file:
            file.write("asked\n")
    elif "id" in asked:  # the SDK asks for what newer servers have, first
        error = {"code": -32601, "message": "there is no such method"}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}), flush=True)  # noqa: T201
