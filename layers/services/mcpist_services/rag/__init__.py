"""The organization's own Markdown documents."""

TITLE = "Documents"
