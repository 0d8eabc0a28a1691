"""What a door and `program_runner` say to each other: one run of a program, or one request to a stdio MCP server."""
