"""Tools: how they are declared and found."""
