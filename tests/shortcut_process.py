"""Run in a fresh process by test_shortcuts.py: serve both eras and read an item; print what came back, and how."""

import json
import sys
from typing import Any

from mcp_endpoint.exchange import McpExchange
from mcp_endpoint.protocol import server
from mcpist.aws.table import Table
from mcpist.aws.transport import transport
from mcpist.caller import Caller, Subject

CLIENT = {"name": "test", "version": "1"}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
CALLER = Caller("acme", "uma", Subject("issuer", "uma"), "user", ())
CALLS: list[tuple[str, str, dict[str, Any]]] = [
    ("", "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}),
    ("2025-11-25", "tools/list", {}),
    ("2026-07-28", "tools/list", {"_meta": META}),
    ("2026-07-28", "tools/call", {"_meta": META, "name": "get_module_schema", "arguments": {"modules": ["no"]}}),
    ("2026-07-28", "prompts/list", {"_meta": META}),
]


def main() -> None:
    protocol = server.Protocol(server.meta_tool_server(), "https://mcp.example.com")
    answers = []
    for version, method, params in CALLS:
        headers = {
            "host": "mcp.example.com",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            **({"mcp-protocol-version": version, "mcp-method": method} if version else {}),
            **({"mcp-name": params["name"]} if "name" in params else {}),
        }
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        exchange = McpExchange("request-1", 1e12, CALLER)
        status, _, content = protocol.post("/mcp", headers, json.dumps(message).encode(), message, exchange)
        answers.append([status, content.decode()])
    protocol.close()
    item = Table("T", "ledger").get("a", "b")
    used = [type(transport()).__name__, bool(server.plain_request), "mcp.client" in sys.modules]
    sys.stdout.write(json.dumps({"answers": answers, "item": item, "used": used}))


main()
