"""Resources and prompts of Slack."""

from typing import Annotated

from mcpist_services.slack.module import slack
from mcpist_services.slack.tools.channels import list_channels
from mcpist_services.slack.tools.messages import list_messages, list_replies, search_messages

ChannelName = Annotated[str, "The channel's name, e.g. general"]


slack.addresses("slack://{channel}", list_messages, "channel", "The newest messages of a channel.")
slack.addresses("slack://{channel}/threads/{ts}", list_replies, "thread", "A thread.")


@slack.prompt(list_messages, list_replies)
def catch_up(channel: ChannelName, since: Annotated[str, "e.g. yesterday"] = "yesterday") -> str:
    """Summarize what happened in a channel."""
    return (
        f"What happened in #{channel} on Slack since {since}? Read its messages (slack.list_messages with oldest), "
        "then in one batch the threads that have replies (slack.list_replies). Group by topic: what was decided, what "
        "is open, and what somebody wants from me, each with its author and its time. Send nothing before I agree."
    )


@slack.prompt(search_messages, list_replies)
def answer_from_slack(question: Annotated[str, "e.g. Why did we leave the old host?"]) -> str:
    """Answer a question from the workspace's messages."""
    return (
        f"Answer from our Slack: {question} Search with two or three different words in one batch "
        "(slack.search_messages), then read the threads that promise most (slack.list_replies). Answer briefly, give "
        "the link behind each claim, and say what the messages leave open."
    )


slack.completes("channel", list_channels, "name")
