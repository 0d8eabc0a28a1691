"""Channels, conversations and people."""

from collections.abc import Generator, Iterable
from typing import Annotated, Any

from pydantic import Field

from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call, Calls, ServiceResponse, Work
from mcpist.tools.declare.undo import ToolCall, ToolChange, Undo, restores, toggles, undone_by, unless
from mcpist_services.slack.directory import channel_id, for_person, in_channel, is_id, read_directory, user_id
from mcpist_services.slack.module import ChannelId, People, Person, cursor_paging, slack, time_of

CHANNEL = ("id", "name", "is_private as private", "is_archived as archived")
CHANNELS = shows(
    *CHANNEL, "topic.value as topic", "purpose.value as purpose", "row.created as created", rows="channels"
)
ONE = shows(
    *(f"channel.{path}" if " as " in path else f"channel.{path} as {path}" for path in CHANNEL),
    "channel.is_member as joined",
    "channel.topic.value as topic",
    "channel.purpose.value as purpose",
    "channel.num_members as members",
)
WITH_TIME = cursor_paging(lambda channel, _: {"row": {"created": time_of(channel.get("created"))}})
NEW = shows("channel.id as id", "channel.name as name")

Name = Annotated[str, Field(pattern=r"^[^A-Z\s.,#@]{1,80}$"), "Without capitals, spaces and dots, e.g. release-2026"]
Members = Annotated[People, "Ids, @names or e-mail addresses, e.g. U0123ABCD45"]
Group = Annotated[list[str], Field(min_length=1, max_length=8), "Ids, @names or e-mail addresses, e.g. U0123ABCD45"]


@slack.lists(CHANNELS, "users.conversations", paging=WITH_TIME, scopes=("channels:read",), uses=({}, {"joined": False}))
def list_channels(
    joined: Annotated[bool, "Only those that you are in; else all that you may see"] = True,
    archived: Annotated[bool, "Archived ones too"] = False,
) -> Call:
    """List channels."""
    query = {"types": "public_channel,private_channel", "exclude_archived": not archived}
    return Call("GET", "/users.conversations" if joined else "/conversations.list", query)


@slack.reads(ONE, "conversations.info", scopes=("channels:read",))
def get_channel(channel: ChannelId) -> Work:
    """Read a channel: its topic, its purpose and the number of members."""
    return in_channel(channel, "GET", "/conversations.info", include_num_members=True)


@slack.reads(shows("id"), "conversations.members", scopes=("channels:read",))
def list_members(channel: ChannelId) -> Calls:
    """List the ids of the people in a channel, at most 3,996; get_user shows who they are."""
    id_ = yield from channel_id(channel)
    members = yield from read_directory("/conversations.members", "members", {"channel": id_})
    return [{"id": member} for member in members]


@slack.writes(
    NEW,
    "conversations.create",
    scopes=("channels:write",),
    undo=undone_by(
        "archive_channel(channel=answer.channel.id)",
        read="get_channel",
        creates=True,
        fields={"name": "channel.name", "archived": lambda found: bool(found["channel"].get("is_archived"))},
    ),
)
def create_channel(name: Name, private: Annotated[bool, "Only for those who are invited"] = False) -> Call:
    """Create a channel."""
    return Call("POST", "/conversations.create", json={"name": name, "is_private": private})


@slack.writes(
    shows("channel.id as id"),
    "conversations.open",
    idempotent=True,
    scopes=("im:write",),
    irreversible="nobody sees a conversation before a message is in it",
)
def open_conversation(users: Group) -> Calls:
    """Open direct messages with one person, or with several as a group."""
    ids = yield from _ids(users)
    return (yield Call("POST", "/conversations.open", json={"users": ",".join(ids), "return_im": True})).json


def _is_member(found: Any, _: ToolChange) -> bool:
    return bool(found["channel"].get("is_member"))


def _is_archived(found: Any, _: ToolChange) -> bool:
    return bool(found["channel"].get("is_archived"))


def _is_private(change: ToolChange) -> bool:
    return bool(change.before and change.before["channel"].get("is_private"))


@slack.writes(
    NEW,
    "conversations.join",
    idempotent=True,
    scopes=("channels:write",),
    undo=toggles("leave_channel(channel)", read="get_channel", has=_is_member, adds=True),
)
def join_channel(channel: ChannelId) -> Work:
    """Join a public channel."""
    return in_channel(channel, "POST", "/conversations.join")


@slack.destroys(
    shows("ok"),
    "conversations.leave",
    scopes=("channels:write",),
    undo=unless(
        _is_private,
        "a private channel is joined by invitation",
        toggles("join_channel(channel)", read="get_channel", has=_is_member, adds=False),
    ),
)
def leave_channel(channel: ChannelId) -> Work:
    """Leave a channel."""
    return in_channel(channel, "POST", "/conversations.leave")


def _invited(members: Any, change: ToolChange) -> dict[str, Any]:
    """Return the people of a change who are in its channel; of those who are named by no id it is not known."""
    known = {member["id"] for member in members}
    return {"users": [user for user in change.arguments["users"] if not is_id(user) or user in known]}


def _remove_again(change: ToolChange) -> Iterable[ToolCall]:
    channel = change.arguments["channel"]
    return [ToolCall("remove_from_channel", {"channel": channel, "user": user}) for user in change.arguments["users"]]


@slack.writes(
    NEW,
    "conversations.invite",
    scopes=("channels:write",),
    undo=Undo(
        calls=_remove_again,
        read="list_members",
        state=_invited,
        after=lambda change: {"users": change.arguments["users"]},
    ),
    tells={"people": "arguments.users"},
)
def invite_to_channel(channel: ChannelId, users: Members) -> Calls:
    """Invite people to a channel."""
    id_ = yield from channel_id(channel)
    ids = yield from _ids(users)
    return (yield Call("POST", "/conversations.invite", json={"channel": id_, "users": ",".join(ids)})).json


@slack.writes(
    shows("ok"),
    "conversations.setTopic",
    idempotent=True,
    scopes=("channels:write",),
    undo=restores("get_channel", echoes=False, topic="channel.topic.value"),
)
def set_topic(channel: ChannelId, topic: Annotated[str, Field(max_length=250), "e.g. Release on Friday"]) -> Work:
    """Change the topic of a channel."""
    return in_channel(channel, "POST", "/conversations.setTopic", topic=topic)


@slack.destroys(
    shows("ok"),
    "conversations.archive",
    scopes=("channels:write",),
    undo=toggles("unarchive_channel(channel)", read="get_channel", has=_is_archived, adds=True),
)
def archive_channel(channel: ChannelId) -> Work:
    """Archive a channel: nobody can write in it any more."""
    return in_channel(channel, "POST", "/conversations.archive")


@slack.destroys(
    shows("ok"),
    "conversations.kick",
    scopes=("channels:write",),
    undo=undone_by("invite_to_channel(channel)", read="list_members", users=lambda change: [change.arguments["user"]]),
)
def remove_from_channel(channel: ChannelId, user: Person) -> Calls:
    """Remove a person from a channel."""
    id_ = yield from channel_id(channel)
    person = yield from user_id(user)
    return (yield Call("POST", "/conversations.kick", json={"channel": id_, "user": person})).json


@slack.writes(
    shows("ok"),
    "conversations.unarchive",
    idempotent=True,
    scopes=("channels:write",),
    undo=toggles("archive_channel(channel)", read="get_channel", has=_is_archived, adds=False),
)
def unarchive_channel(channel: ChannelId) -> Work:
    """Open an archived channel again."""
    return in_channel(channel, "POST", "/conversations.unarchive")


def _ids(people: list[str]) -> Generator[Call, ServiceResponse, list[str]]:
    ids: list[str] = []
    for person in people:
        ids += [(yield from user_id(person))]
    return ids


USER = ("id", "name", "real_name", "profile.display_name as display_name", "profile.title as title")
MORE = ("is_bot as bot", "deleted")
PERSON = shows(
    "user.id as id",
    "user.name as name",
    "user.real_name|user.profile.real_name as real_name",
    "user.profile.display_name as display_name",
    "user.profile.email as email",
    "user.profile.title as title",
    "user.profile.status_text as status",
    "user.tz as timezone",
    "user.deleted as deleted",
)


@slack.lists(shows(*USER, "profile.email as email", *MORE, rows="members"), "users.list", scopes=("users:read",))
def list_users() -> Call:
    """List the people and bots of the workspace."""
    return Call("GET", "/users.list")


@slack.reads(PERSON, "users.info", scopes=("users:read",))
def get_user(user: Person) -> Work:
    """Read a person: name, e-mail address, status and time zone."""
    return for_person(user, lambda id_: Call("GET", "/users.info", {"user": id_}))


@slack.reads(shows("user_id as id", "user as name", "team as workspace", "team_id", "url"), "auth.test")
def get_me() -> Call:
    """Read your own id and the workspace."""
    return Call("GET", "/auth.test")
