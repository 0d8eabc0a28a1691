"""GitHub."""

TITLE = "GitHub"
