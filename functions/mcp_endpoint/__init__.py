"""Streamable HTTP MCP: the protocol and the three meta-tools."""

from mcpist.shortcuts import shortcut

if lean_sdk := shortcut("mcp_endpoint.lean_sdk"):
    lean_sdk.import_sdk()  # before any file of this door imports the SDK
