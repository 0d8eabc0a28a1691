"""What the databases that speak SQL have in common: addresses, connections, reading, writing and tools."""
