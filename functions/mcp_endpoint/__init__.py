"""Streamable HTTP MCP: the protocol and the three meta-tools."""
