"""Markdown as a tree: what every service's rich text is turned into, and made from."""
