"""Streamable HTTP MCP: the protocol and the three meta-tools."""

from mcp_endpoint.lean_sdk import import_sdk

import_sdk()  # before any file of this door imports the SDK
