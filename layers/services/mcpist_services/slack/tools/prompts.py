"""Resources and prompts of Slack."""

from typing import Annotated

from mcpist_services.slack.module import slack
from mcpist_services.slack.tools.channels import list_channels
from mcpist_services.slack.tools.messages import list_messages, list_replies, search_messages

ChannelName = Annotated[str, "The channel's name, e.g. general"]


slack.addresses("slack://{channel}", list_messages, "channel", "The newest messages of a channel.")
slack.addresses("slack://{channel}/threads/{ts}", list_replies, "thread", "A thread.")


@slack.prompt(list_messages, list_replies)
def catch_up(channel: ChannelName, since: Annotated[str, "e.g. yesterday"] = "yesterday") -> None:
    """Summarize what happened in a channel."""


@slack.prompt(search_messages, list_replies)
def answer_from_slack(question: Annotated[str, "e.g. Why did we leave the old host?"]) -> None:
    """Answer a question from the workspace's messages."""


slack.completes("channel", list_channels, "name")
