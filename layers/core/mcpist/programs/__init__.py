"""The messages between a door and `program_runner`: one run of a program, or one request to a stdio MCP server."""
