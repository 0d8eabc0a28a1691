"""A request's JSON-RPC message before the SDK reads it: whether its work may have to wait, and what its client can do.

A client of 2025-11-25 declares its capabilities once, in `initialize`. One that opens addresses is given a session id
that says so, and sends it with each request: nothing is kept here. The id is not sealed, since it permits nothing: a
client can forge only what it may declare.
"""

import json
import secrets
from typing import Any

from mcp_endpoint.exchange import OPENS_URLS, SESSION_HEADER
from mcpist.telemetry.invocation import METHOD_NAME, TOOL_NAME

# Methods whose work may wait for another server, for a batch or for a store; other lists are answered at once.
WAITING_METHODS = ("tools/call", "resources/list", "resources/read", "prompts/get", "completion/complete")
TOOLS = ("get_module_schema", "call", "batch", "get-category-tools", "call-category-tool")
METHODS = (
    *WAITING_METHODS,
    *("initialize", "ping", "server/discover", "tools/list", "resources/templates/list"),
    *("prompts/list", "tasks/get", "tasks/update", "tasks/cancel", "notifications/initialized"),
)


def read(body: bytes) -> dict[str, Any]:
    """Return the message of a body; empty for what is no single message, which the SDK refuses."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def described(message: dict[str, Any]) -> dict[str, str]:
    """Return a message's method and tool for the log, as far as their names are ours: no text of the client's."""
    method, params = message.get("method"), message.get("params")
    if method not in METHODS:
        return {}
    tool = params.get("name") if method == "tools/call" and isinstance(params, dict) else None
    return {METHOD_NAME: method} | ({TOOL_NAME: tool} if tool in TOOLS else {})


def may_wait(message: dict[str, Any]) -> bool:
    """Return whether a message names a method that may wait."""
    return message.get("method") in WAITING_METHODS


def session_headers(message: dict[str, Any]) -> dict[str, str]:
    """Return the session id for a client that begins and can open addresses; none for others."""
    found: Any = message if message.get("method") == "initialize" else {}
    for name in ("params", "capabilities", "elicitation", "url"):
        found = found.get(name) if isinstance(found, dict) else None
    return {} if found is None else {SESSION_HEADER: f"{OPENS_URLS}{secrets.token_urlsafe(16)}"}
