"""Run in a fresh process by `shortcuts`: import the endpoint, call it, and read a store; print the CPU of each."""

import json
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

LOOPS, ROUNDS = 50, 9
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
MESSAGE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"_meta": META, "name": "get_module_schema", "arguments": {"modules": ["none"]}},
}
HEADERS = {
    "host": "mcp.example.com",
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "get_module_schema",
}


def main() -> None:
    """Print the figures."""
    figures = {"import of mcp_endpoint.handler, ms": _milliseconds(lambda: import_module("mcp_endpoint.handler"))}
    figures["warm tools/call of get_module_schema, ms"] = _warm(_call())
    from mcpist.aws.table import Table

    read = Table("T", "ledger")
    figures["first GetItem of a process, ms"] = _milliseconds(lambda: read.get("a", "b"))
    figures["further GetItem, ms"] = _warm(lambda: read.get("a", "b"))
    print(json.dumps(figures))


def _call() -> Callable[[], Any]:
    """Return a call of the endpoint's protocol, which needs no store."""
    from mcp_endpoint.exchange import McpExchange
    from mcp_endpoint.protocol.server import Protocol, meta_tool_server
    from mcpist.caller import Caller, Subject

    protocol = Protocol(meta_tool_server(), "https://mcp.example.com")
    exchange = McpExchange("r", 1e12, Caller("acme", "uma", Subject("i", "uma"), "user", ()))
    body = json.dumps(MESSAGE).encode()
    return lambda: protocol.post("/mcp", HEADERS, body, json.loads(body), exchange)


def _warm(work: Callable[[], Any]) -> float:
    """Return the CPU of one repetition: of the quickest loop, which the rest of the machine disturbs least."""
    work()
    return min(_milliseconds(lambda: [work() for _ in range(LOOPS)]) for _ in range(ROUNDS)) / LOOPS


def _milliseconds(work: Callable[[], Any]) -> float:
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000


if __name__ == "__main__":
    main()
