"""Confluence Cloud."""
