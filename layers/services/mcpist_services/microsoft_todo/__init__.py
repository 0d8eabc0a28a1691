"""Microsoft To Do."""
