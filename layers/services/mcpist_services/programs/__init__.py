"""Command-line programs as modules: their declarations, their command lines, and what their runs leave."""
