"""Jira Cloud."""
