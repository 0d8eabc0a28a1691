"""Stdio MCP servers: their processes, and the sessions of one sandbox with them."""
