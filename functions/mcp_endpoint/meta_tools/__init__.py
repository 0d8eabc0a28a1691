"""The tools that clients see: their declarations, arguments and answers."""
