"""Your status, groups of people, and what you have not read."""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import Field

from mcpist.errors import InvalidRequest
from mcpist.render.shows import shows
from mcpist.tools.declare.argument_types import UtcMoment
from mcpist.tools.declare.call import Call, Calls, Work
from mcpist.tools.declare.undo import ToolCall, ToolChange, Undo, undone_by
from mcpist_services.slack.directory import channel_id, in_channel
from mcpist_services.slack.module import ChannelId, Ts, row, seconds_of, slack, time_of

GROUPS = shows("id", "name", "handle", "description", "user_count as users", "created")
UNREAD = shows("id", "name", "unread", "more", "newest", "last_read", "created")
STATUS = shows("profile.status_text as text", "profile.status_emoji as emoji")
CONVERSATIONS = "public_channel,private_channel,im,mpim"
MARKING = ("channels:history", "channels:write")
MARKED = "1512085950.000216"
MAX_UNREAD = 100  # messages that are counted in a channel

StatusText = Annotated[str, Field(max_length=100), "Empty to clear the status, e.g. In a meeting"]
Emoji = Annotated[str, Field(pattern=r"^:?[\w+'-]*:?$", max_length=100), "The emoji's name, e.g. calendar"]
Until = Annotated[UtcMoment | None, "When it ends; never if left out, e.g. 2026-01-31T18:00:00+09:00"]
Group = Annotated[
    str, Field(pattern=r"^@?[\w.-]+$", max_length=100), "An id or a @handle of list_groups, e.g. S0614TZR7"
]


@slack.reads(STATUS, "users.info", scopes=("users:read",))
def get_status() -> Calls:
    """Read your own status."""
    own = (yield Call("GET", "/auth.test")).json["user_id"]
    return {"profile": (yield Call("GET", "/users.info", {"user": own})).json["user"]["profile"]}


def _status(found: Any) -> dict[str, Any]:
    profile = found["profile"]
    return {name: profile.get(f"status_{name}") or "" for name in ("text", "emoji")} | {
        "until": time_of(profile.get("status_expiration"))
    }


def _former_status(change: ToolChange) -> Iterable[ToolCall]:
    status = _status(change.before)
    return [ToolCall("set_status", {name: value for name, value in status.items() if value is not None})]


@slack.writes(
    STATUS,
    "users.profile.set",
    scopes=("users.profile:write",),
    idempotent=True,
    undo=Undo(calls=_former_status, read="get_status", state=lambda found, _: _status(found)),
)
def set_status(text: StatusText, emoji: Emoji = "", until: Until = None) -> Call:
    """Set your status, or clear it."""
    name, end = emoji.strip(":"), int(seconds_of(until) or 0)
    status = {"status_text": text, "status_emoji": f":{name}:" if name else "", "status_expiration": end}
    return Call("POST", "/users.profile.set", json={"profile": status})


@slack.reads(GROUPS, "usergroups.list", scopes=("usergroups:read",))
def list_groups() -> Calls:
    """List the user groups of the workspace, such as @designers."""
    found = (yield Call("GET", "/usergroups.list", {"include_count": True})).json["usergroups"]
    return [group | {"created": time_of(group.get("date_create"))} for group in found]


@slack.reads(shows("id"), "usergroups.users.list", scopes=("usergroups:read",), uses=({}, {"group": "@admins"}))
def list_group_members(group: Group) -> Calls:
    """List the ids of the people in a group; get_user shows who they are."""
    id_: str | None = group
    if not group.startswith("S") or not group.isupper():
        known = (yield Call("GET", "/usergroups.list")).json["usergroups"]
        handle = group.removeprefix("@").casefold()
        id_ = next((one["id"] for one in known if one["handle"].casefold() == handle), None)
    if id_ is None:
        raise InvalidRequest(field="group", problem="no group has this handle: give one that list_groups shows")
    return [{"id": user} for user in (yield Call("GET", "/usergroups.users.list", {"usergroup": id_})).json["users"]]


@slack.reads(UNREAD, "conversations.history", scopes=("channels:read", "channels:history"))
def list_unread(
    channels: Annotated[int, Field(ge=1, le=50), "How many of your conversations to look at, two requests each"] = 20,
) -> Calls:
    """List the conversations that have messages which you have not read: how many, and the newest."""
    query = {"types": CONVERSATIONS, "exclude_archived": True, "limit": channels}
    found: list[dict[str, Any]] = []
    for one in (yield Call("GET", "/users.conversations", query)).json["channels"]:
        about = (yield Call("GET", "/conversations.info", {"channel": one["id"]})).json["channel"]
        last_read = about.get("last_read")
        since = {"channel": one["id"], "oldest": last_read or "0", "limit": MAX_UNREAD}
        history = (yield Call("GET", "/conversations.history", since)).json
        if history["messages"] and last_read is not None:
            found.append(_unread(one, history, last_read))
    return found


@slack.writes(
    shows("ok"),
    "conversations.mark",
    scopes=MARKING,
    idempotent=True,
    uses=({}, {"ts": MARKED}),
    undo=undone_by("mark_read(channel, ts=before.channel.last_read)", read="get_channel"),
)
def mark_read(
    channel: ChannelId,
    ts: Annotated[Ts | None, "Up to this message; to the newest if left out, e.g. 1512085950.000216"] = None,
) -> Work:
    """Mark a conversation as read."""
    return _mark_newest(channel) if ts is None else in_channel(channel, "POST", "/conversations.mark", ts=ts)


def _mark_newest(channel: str) -> Calls:
    id_ = yield from channel_id(channel)
    newest = (yield Call("GET", "/conversations.history", {"channel": id_, "limit": 1})).json["messages"]
    return Call("POST", "/conversations.mark", json={"channel": id_, "ts": newest[0]["ts"] if newest else "0"})


def _unread(channel: dict[str, Any], history: dict[str, Any], last_read: str) -> dict[str, Any]:
    messages = history["messages"]
    return {
        "id": channel["id"],
        "name": channel.get("name") or channel.get("user"),
        "unread": len(messages),
        "more": bool(history.get("has_more")),
        "newest": row(messages[0])["row"]["text"],
        "last_read": time_of(last_read),
        "created": time_of(messages[0]["ts"]),
    }
