"""Serves the REST API: the same tools, batches, files and administration for programs that do not speak MCP."""
