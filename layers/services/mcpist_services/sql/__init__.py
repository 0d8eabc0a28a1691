"""SQL databases: addresses, connections, reading, writing and tools, the same for each kind."""
