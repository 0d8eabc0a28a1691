"""Confluence Cloud."""

TITLE = "Confluence"
