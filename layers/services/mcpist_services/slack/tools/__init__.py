"""The tools of Slack, in the order in which they are listed."""

from mcpist_services.slack.module import slack

from mcpist_services.slack.tools import messages, channels, marks, files, reminders, prompts  # isort: skip

__all__ = ["channels", "files", "marks", "messages", "prompts", "reminders", "slack"]
