"""Messages that are sent later."""

from typing import Annotated, Any

from pydantic import Field

from mcpist.markdown.writer import write
from mcpist.render.shows import shows
from mcpist.tools.declare.argument_types import UtcMoment
from mcpist.tools.declare.call import Call, Work, given
from mcpist.tools.declare.paging import Paging, by_field
from mcpist_services.slack.blocks import message
from mcpist_services.slack.directory import in_channel
from mcpist_services.slack.module import MAX_PAGE, ChannelId, ThreadTs, seconds_of, slack, time_of
from mcpist_services.slack.mrkdwn import read_mrkdwn
from mcpist_services.slack.tools.messages import Text

SCHEDULED = shows("id", "channel_id as channel", "row.time as post_at", "row.text as text", rows="scheduled_messages")


def _row(message: Any, _: Any = None) -> dict[str, Any]:
    return {"row": {"time": time_of(message.get("post_at")), "text": write(read_mrkdwn(message.get("text") or ""))}}


PAGING = Paging("limit", MAX_PAGE, ("cursor",), by_field("response_metadata.next_cursor", "cursor"), _row)
PostAt = Annotated[UtcMoment, "At most 120 days away, e.g. 2026-01-31T09:00:00+09:00"]


@slack.lists(SCHEDULED, "chat.scheduledMessages.list", paging=PAGING)
def list_scheduled_messages() -> Call:
    """List the messages that wait to be sent."""
    return Call("GET", "/chat.scheduledMessages.list")


@slack.writes(shows("channel", "scheduled_message_id as id"), "chat.scheduleMessage", scopes=("chat:write",))
def schedule_message(channel: ChannelId, markdown: Text, post_at: PostAt, thread_ts: ThreadTs | None = None) -> Work:
    """Send a message later."""
    body = {"post_at": int(seconds_of(post_at) or 0), **message(markdown), **given(thread_ts=thread_ts)}
    return in_channel(
        channel, lambda id_: Call("POST", "/chat.scheduleMessage", json={"channel": id_, **body}), opens=True
    )


@slack.destroys(shows("ok"), "chat.deleteScheduledMessage", scopes=("chat:write",))
def delete_scheduled_message(
    channel: ChannelId,
    message_id: Annotated[str, Field(min_length=1), "The id that list_scheduled_messages shows, e.g. Q1298393284"],
) -> Work:
    """Delete a message before it is sent."""
    body = {"scheduled_message_id": message_id}
    return in_channel(channel, lambda id_: Call("POST", "/chat.deleteScheduledMessage", json={"channel": id_, **body}))
