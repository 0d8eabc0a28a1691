"""Registered modules: APIs and MCP servers that an administrator adds to one organization while the system runs."""
