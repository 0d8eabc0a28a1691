"""The console script `mcpist`: every command prints one JSON document."""
