"""The tools: listed, described, searched and called."""
