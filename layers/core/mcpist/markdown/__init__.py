"""Markdown as a tree, to and from which every service converts its rich text."""
