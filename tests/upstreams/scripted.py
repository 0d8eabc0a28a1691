"""An upstream over stdio that says what a file of JSON says, as it is at that moment: no SDK, so it starts at once.

The file: `{"tools": [...], "answers": {tool: result}, "resources": [...], "templates": [...],
"contents": {uri: [...]}, "prompts": [...]}`.
A tool without an answer tells its arguments. Where the file is missing, the server ends before it has begun.
"""

import json
import sys
from pathlib import Path
from typing import Any

EMPTY = {"type": "object", "properties": {}}


def main(file: Path) -> None:
    """Answer line by line until stdin ends."""
    if not file.exists():
        sys.exit(1)
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            answer = {
                "jsonrpc": "2.0",
                "id": request["id"],
                **response_to(json.loads(file.read_text("utf-8")), request),
            }
            sys.stdout.write(f"{json.dumps(answer)}\n")
            sys.stdout.flush()


def response_to(script: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    """The `result` or the `error` of one request."""
    params = request.get("params", {})
    match request["method"]:
        case "initialize":
            kinds = {"tools": {}} | {kind: {} for kind in ("resources", "prompts") if kind in script}
            info = {"name": "scripted", "version": "1"}
            return {"result": {"protocolVersion": "2025-06-18", "capabilities": kinds, "serverInfo": info}}
        case "tools/list":
            return {"result": {"tools": [{"inputSchema": EMPTY, **tool} for tool in script["tools"]]}}
        case "tools/call":
            told = {"content": [{"type": "text", "text": json.dumps(params.get("arguments", {}))}]}
            return {"result": script.get("answers", {}).get(params["name"], told)}
        case "resources/list":
            return {"result": {"resources": script["resources"]}}
        case "resources/read":
            return {"result": {"contents": script["contents"][params["uri"]]}}
        case "resources/templates/list":
            return {"result": {"resourceTemplates": script.get("templates", [])}}
        case "prompts/list":
            return {"result": {"prompts": script["prompts"]}}
        case "prompts/get":
            text = f"{params['name']} {json.dumps(params.get('arguments', {}))}"
            return {"result": {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}}
        case "ping":
            return {"result": {}}
        case method:
            return {"error": {"code": -32601, "message": f"no {method} here"}}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
