"""Reactions and pins."""

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call, Calls, Work
from mcpist.tools.declare.undo import ToolChange, row_where, toggles, undone_by
from mcpist_services.slack.block_reading import Json
from mcpist_services.slack.directory import channel_id, in_channel
from mcpist_services.slack.module import ChannelId, Ts, row, slack

PINS = shows("ts", "time", "user", "text", "url", "file")
DONE = shows("ok")

Emoji = Annotated[
    str,
    Field(min_length=1, max_length=100),
    AfterValidator(lambda name: name.strip().strip(":")),
    "The emoji's name, e.g. thumbsup",
]


@slack.reads(PINS, "pins.list", scopes=("pins:read",))
def list_pins(channel: ChannelId) -> Calls:
    """List what is pinned in a channel."""
    id_ = yield from channel_id(channel)
    answer = yield Call("GET", "/pins.list", {"channel": id_})
    return [_pin(item) for item in answer.json["items"]]


# A reaction is its person's own: nobody else can change it, so only its message must still be there.
_OPPOSITE: dict[str, Any] = {
    "read": "list_replies",
    "select": row_where("ts", "arguments.ts", rows="messages"),
    "fields": "ts",
    "after": lambda change: change.given("ts"),
}


@slack.writes(
    DONE,
    "reactions.add",
    scopes=("reactions:write",),
    undo=undone_by("remove_reaction(channel, ts, emoji)", **_OPPOSITE),
)
def add_reaction(channel: ChannelId, ts: Ts, emoji: Emoji) -> Work:
    """React to a message with an emoji."""
    return in_channel(channel, "POST", "/reactions.add", name=emoji, timestamp=ts)


@slack.writes(
    DONE,
    "reactions.remove",
    scopes=("reactions:write",),
    undo=undone_by("add_reaction(channel, ts, emoji)", **_OPPOSITE),
)
def remove_reaction(channel: ChannelId, ts: Ts, emoji: Emoji) -> Work:
    """Remove your reaction from a message."""
    return in_channel(channel, "POST", "/reactions.remove", name=emoji, timestamp=ts)


def _is_pinned(pins: list[Json], change: ToolChange) -> bool:
    return any(pin.get("ts") == change.arguments["ts"] for pin in pins)


@slack.writes(
    DONE,
    "pins.add",
    scopes=("pins:write",),
    undo=toggles("unpin_message(channel, ts)", read="list_pins", has=_is_pinned, adds=True),
)
def pin_message(channel: ChannelId, ts: Ts) -> Work:
    """Pin a message in its channel."""
    return in_channel(channel, "POST", "/pins.add", timestamp=ts)


@slack.writes(
    DONE,
    "pins.remove",
    scopes=("pins:write",),
    undo=toggles("pin_message(channel, ts)", read="list_pins", has=_is_pinned, adds=False),
)
def unpin_message(channel: ChannelId, ts: Ts) -> Work:
    """Unpin a message."""
    return in_channel(channel, "POST", "/pins.remove", timestamp=ts)


def _pin(item: Json) -> Json:
    message, file = item.get("message"), item.get("file") or {}
    own = {"ts": message["ts"], "user": message.get("user"), "url": message.get("permalink")} if message else {}
    return {**own, **(row(message)["row"] if message else {}), "file": file.get("id")}
