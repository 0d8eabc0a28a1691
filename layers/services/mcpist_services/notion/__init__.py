"""Notion."""

TITLE = "Notion"
