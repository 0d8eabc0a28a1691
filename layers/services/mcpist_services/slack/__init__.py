"""Slack."""

TITLE = "Slack"
