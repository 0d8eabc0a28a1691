"""The organization's own Markdown documents."""
