"""Run in a fresh process by test_lean_sdk.py: serve both eras, then use what was left out; print what was found."""

import json
import sys
from collections.abc import Iterator
from typing import Any

from snapshot_restore_py import get_before_snapshot

from mcp_endpoint.exchange import McpExchange
from mcp_endpoint.protocol.server import Protocol, meta_tool_server
from mcpist.caller import Caller, Subject

CLIENT = {"name": "test", "version": "1"}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
SERVER = Protocol(meta_tool_server(), "https://mcp.example.com")


def ask(version: str, method: str, params: dict[str, Any]) -> Any:
    caller = Caller("acme", "uma", Subject("issuer", "uma"), "user", ())
    headers = {
        "host": "mcp.example.com",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        **({"mcp-protocol-version": version, "mcp-method": method} if version else {}),
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    exchange = McpExchange("r", 1e12, caller)
    status, _, content = SERVER.post("/mcp", headers, json.dumps(message).encode(), message, exchange)
    assert status == 200, (status, content)
    return json.loads(content)["result"]


def incomplete(kind: type[Any]) -> Iterator[str]:
    """The models below a class that have no validator."""
    for below in kind.__subclasses__():
        if not below.__pydantic_complete__:
            yield below.__name__
        yield from incomplete(below)


def main() -> None:
    begun = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}
    found: dict[str, Any] = {
        "handshake": ask("", "initialize", begun)["protocolVersion"],
        "tools": [
            [tool["name"] for tool in ask(version, "tools/list", params)["tools"]]
            for version, params in (("2025-11-25", {}), ("2026-07-28", {"_meta": META}))
        ],
        "imported": list(sys.modules),
    }
    import mcp.server
    import mcp.server.streamable_http
    import mcp.types
    from pydantic import BaseModel

    found["late"] = [len(list(incomplete(BaseModel)))]
    for hook, arguments, options in get_before_snapshot():
        if hook.__module__ == "mcp_endpoint.lean_sdk":
            hook(*arguments, **options)
    found["late"].append(len(list(incomplete(BaseModel))))
    found["names"] = [mcp.Client.__name__, mcp.server.MCPServer.__name__, mcp.types.Tool.__name__]
    found["stream"] = type(mcp.server.streamable_http.EventSourceResponse(iter(()))).__module__
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
