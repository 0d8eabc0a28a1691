"""Tools: how they are declared, found and run."""
