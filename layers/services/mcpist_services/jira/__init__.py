"""Jira Cloud."""

TITLE = "Jira"
