"""The tools of Slack in the order in which they are listed, then its resources and prompts."""

from typing import Annotated

from mcpist_services.slack.module import slack

from mcpist_services.slack.tools import messages, channels, marks, files, reminders, presence  # isort: skip

ChannelName = Annotated[str, "The channel's name, e.g. general"]


slack.addresses("slack://{channel}", messages.list_messages, "channel", "The newest messages of a channel.")
slack.addresses("slack://{channel}/threads/{ts}", messages.list_replies, "thread", "A thread.")


@slack.prompt(messages.list_messages, messages.list_replies)
def catch_up(channel: ChannelName, since: Annotated[str, "e.g. yesterday"] = "yesterday") -> None:
    """Summarize what happened in a channel."""


@slack.prompt(messages.search_messages, messages.list_replies)
def answer_from_slack(question: Annotated[str, "e.g. Why did we leave the old host?"]) -> None:
    """Answer a question from the workspace's messages."""


slack.completes("channel", channels.list_channels, "name")
