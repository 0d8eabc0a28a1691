"""Notion."""
