"""Runs command-line programs and stdio MCP servers, the code that nobody here wrote; its role allows only its logs."""
