"""The MCP server: its transport, its methods and its errors."""
