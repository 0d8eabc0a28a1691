"""Messages and threads, also those that are sent later."""

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from mcpist.markdown.writer import write
from mcpist.render.shows import shows
from mcpist.tools.declare.argument_types import UtcMoment, times_in_query
from mcpist.tools.declare.call import Call, Work
from mcpist.tools.declare.paging import Paging
from mcpist.tools.declare.undo import restores, row_where, undone_by
from mcpist_services.slack.block_reading import message_markdown
from mcpist_services.slack.directory import in_channel, name_authors
from mcpist_services.slack.mentions import post
from mcpist_services.slack.module import (
    ChannelId,
    Markdown,
    ThreadTs,
    Ts,
    cursor_paging,
    page_numbers,
    row,
    seconds_of,
    slack,
    time_of,
)
from mcpist_services.slack.mrkdwn import read_mrkdwn

MESSAGES = shows(
    "ts",
    "row.time as time",
    "user|bot_id as user",
    "row.name|username as name",
    "row.text as text",
    "thread_ts",
    "reply_count as replies",
    "reactions[*].name as reactions",
    "files[*].id as files",
    rows="messages",
)
NAMED = replace(cursor_paging(row), complete=name_authors)
FOUND = shows(
    "ts",
    "row.time as time",
    "channel.id as channel",
    "channel.name as channel_name",
    "username as author",
    "row.text as text",
    "permalink as url",
    rows="messages.matches",
)
WRITTEN = shows("channel", "ts")
SEARCH = Paging("count", 100, ("page",), page_numbers("messages"), row)

Text = Annotated[
    Markdown, "@aiko or [@Aiko](mention:U0123ABCD45) mentions, so do mention:here and a channel's id, e.g. It **works**"
]
Since = Annotated[UtcMoment | None, "Written after this, e.g. 2026-01-31T09:00:00+09:00"]
Until = Annotated[UtcMoment | None, "Written before this, e.g. 2026-02-01T09:00:00+09:00"]
Query = Annotated[
    str,
    Field(min_length=1),
    times_in_query("%Y-%m-%d"),
    "Words, and from:@aiko, in:#general, before:2026-02-01, after:now-7d, has:link, is:thread, e.g. budget in:#general",
]


@slack.lists(MESSAGES, "conversations.history", paging=NAMED, scopes=("channels:history",))
def list_messages(channel: ChannelId, oldest: Since = None, latest: Until = None) -> Work:
    """List the messages of a channel or of direct messages, the newest first; replies are in their threads."""
    begin, end = seconds_of(oldest), seconds_of(latest)
    return in_channel(channel, "GET", "/conversations.history", oldest=begin, latest=end)


@slack.lists(MESSAGES, "conversations.replies", paging=NAMED, scopes=("channels:history",))
def list_replies(channel: ChannelId, ts: ThreadTs) -> Work:
    """List a thread: its first message, then the replies."""
    return in_channel(channel, "GET", "/conversations.replies", ts=ts)


@slack.lists(FOUND, "search.messages", paging=SEARCH, scopes=("search:read",))
def search_messages(
    query: Query, sort: Annotated[Literal["score", "timestamp"], "By relevance, or the newest first"] = "score"
) -> Call:
    """Search the messages that you may see."""
    return Call("GET", "/search.messages", {"query": query, "sort": sort})


@slack.reads(shows("permalink as url"), "chat.getPermalink")
def get_permalink(channel: ChannelId, ts: Ts) -> Work:
    """Read the link to a message."""
    return in_channel(channel, "GET", "/chat.getPermalink", message_ts=ts)


def _text(item: Any) -> str:
    """Return the Markdown of a message, also of the one in an answer."""
    return message_markdown(item.get("message", item))


def _replies(item: Any) -> Any:
    return item.get("message", item).get("reply_count", 0)


@slack.writes(
    WRITTEN,
    "chat.postMessage",
    scopes=("chat:write",),
    undo=undone_by(
        "delete_message(channel=answer.channel, ts=answer.ts)",
        read="list_replies",
        select=row_where("ts", "answer.ts", rows="messages"),
        creates=True,
        fields={"text": _text, "replies": _replies},
    ),
    tells={"channel": "arguments.channel"},
)
def send_message(
    channel: ChannelId,
    markdown: Text,
    thread_ts: ThreadTs | None = None,
    also_to_channel: Annotated[bool, "Show the reply in the channel too"] = False,
) -> Work:
    """Send a message to a channel or a person, or reply in a thread."""
    reply = {"thread_ts": thread_ts, "reply_broadcast": also_to_channel or None}
    return post(channel, "/chat.postMessage", markdown, opens=True, **reply)


slack.message = send_message


@slack.writes(
    WRITTEN,
    "chat.update",
    idempotent=True,
    scopes=("chat:write",),
    undo=restores("list_replies", select=row_where("ts", "arguments.ts", rows="messages"), markdown=_text),
)
def update_message(channel: ChannelId, ts: Ts, markdown: Text) -> Work:
    """Replace the text of a message of yours."""
    return post(channel, "/chat.update", markdown, ts=ts)


@slack.destroys(WRITTEN, "chat.delete", scopes=("chat:write",), irreversible="Slack keeps no deleted message")
def delete_message(channel: ChannelId, ts: Ts) -> Work:
    """Delete a message of yours."""
    return in_channel(channel, "POST", "/chat.delete", ts=ts)


SCHEDULED = shows("id", "channel_id as channel", "row.time as post_at", "row.text as text", rows="scheduled_messages")


def _row(message: Any, _: Any = None) -> dict[str, Any]:
    return {"row": {"time": time_of(message.get("post_at")), "text": write(read_mrkdwn(message.get("text") or ""))}}


PostAt = Annotated[UtcMoment, "At most 120 days away, e.g. 2026-01-31T09:00:00+09:00"]


@slack.lists(SCHEDULED, "chat.scheduledMessages.list", paging=cursor_paging(_row))
def list_scheduled_messages() -> Call:
    """List the messages that wait to be sent."""
    return Call("GET", "/chat.scheduledMessages.list")


@slack.writes(
    shows("channel", "scheduled_message_id as id"),
    "chat.scheduleMessage",
    scopes=("chat:write",),
    undo=undone_by(
        "delete_scheduled_message(channel=answer.channel, message_id=answer.scheduled_message_id)",
        read="list_scheduled_messages",
        select=row_where("id", "answer.scheduled_message_id", rows="scheduled_messages"),
        creates=True,
        fields="post_at",
    ),
    tells={"channel": "arguments.channel"},
)
def schedule_message(channel: ChannelId, markdown: Text, post_at: PostAt, thread_ts: ThreadTs | None = None) -> Work:
    """Send a message later."""
    at = int(seconds_of(post_at) or 0)
    return post(channel, "/chat.scheduleMessage", markdown, opens=True, post_at=at, thread_ts=thread_ts)


@slack.destroys(
    shows("ok"),
    "chat.deleteScheduledMessage",
    scopes=("chat:write",),
    irreversible="Slack does not tell the thread of a message that waits",
)
def delete_scheduled_message(
    channel: ChannelId,
    message_id: Annotated[str, Field(min_length=1), "The id that list_scheduled_messages shows, e.g. Q1298393284"],
) -> Work:
    """Delete a message before it is sent."""
    return in_channel(channel, "POST", "/chat.deleteScheduledMessage", scheduled_message_id=message_id)
