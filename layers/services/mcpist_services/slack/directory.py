"""Names as ids: `#general`, `@aiko` and e-mail addresses, looked up in as few pages as it takes.

A name is searched in the channels of the person first, then in all. Slack has no request that finds one by its name.
"""

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, Literal

from mcpist.errors import InvalidRequest, McpistError, ScopeMissing
from mcpist.tools.declare.call import Call, Calls, ServiceResponse, given
from mcpist_services.slack.block_reading import Json
from mcpist_services.slack.module import shown_name

MAX_DIRECTORY_PAGE = 999
MAX_DIRECTORY_PAGES = 4
MAX_CANDIDATES = 5
MAX_NAMED_AUTHORS = 10  # each is a request

_ID = re.compile(r"[CDGSUW][A-Z0-9]{6,}")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_CHANNELS = {"types": "public_channel,private_channel"}
_PLACES: dict[str, Json] = {
    "/users.conversations": {**_CHANNELS, "exclude_archived": True},
    "/conversations.list": _CHANNELS,
}

type Lookup = Generator[Call, ServiceResponse, str]


def is_id(text: str) -> bool:
    """Whether a text is an id of Slack's."""
    return _ID.fullmatch(text) is not None


def _is_conversation_id(text: str) -> bool:
    return is_id(text) and text[0] not in "UW"


def in_channel(
    channel: str, method: Literal["GET", "POST"], path: str, *, opens: bool = False, **fields: Any
) -> Call | Calls:
    """Return the request for a channel, after those that find its id; `opens` begins a conversation with a person."""

    def request(id_: str) -> Call:
        values = given(channel=id_, **fields)
        return Call(method, path, json=values) if method == "POST" else Call(method, path, values)

    return request(channel) if _is_conversation_id(channel) else _then(channel_id(channel, opens=opens), request)


def for_person(person: str, make: Callable[[str], Call]) -> Call | Calls:
    """Return the request for a person, after those that find the id."""
    return make(person) if is_id(person) else _then(user_id(person), make)


def _then(lookup: Lookup, make: Callable[[str], Call]) -> Calls:
    return make((yield from lookup))


def channel_id(channel: str, *, opens: bool = False) -> Lookup:
    """Find the id of a channel, or of the conversation with a person."""
    if _is_conversation_id(channel):
        return channel
    if channel.startswith("@") or is_id(channel) or _EMAIL.fullmatch(channel):
        person = yield from user_id(channel)
        if opens:
            # It prepares: nobody sees an opened conversation before a message is in it, so a retry does no harm.
            opened = yield Call("POST", "/conversations.open", json={"users": person}, prepares=True)
            return str(opened.json["channel"]["id"])
        return (yield from _conversation_with(person, channel))
    name = channel.removeprefix("#").casefold()

    def is_wanted(found: Json) -> bool:
        return name in {found["name"].casefold(), found.get("name_normalized", "").casefold()}

    for path, query in _PLACES.items() if name else ():
        found = yield from read_directory(path, "channels", query, is_wanted)
        if wanted := next(filter(is_wanted, found), None):
            return str(wanted["id"])
    raise _unknown("channel", channel, "list_channels")


def user_id(person: str) -> Lookup:
    """Find the id of a person by handle, display name, full name or e-mail address."""
    if is_id(person):
        return person
    if _EMAIL.fullmatch(person):
        return str((yield Call("GET", "/users.lookupByEmail", {"email": person})).json["user"]["id"])
    found = _id_of((yield from _people()), person, "user")
    if found is None:
        raise _unknown("user", person, "list_users")
    return found


def mentioned_ids(names: Iterable[str]) -> Generator[Call, ServiceResponse, dict[str, str | None]]:
    """Find the ids of the people whom a message names; None for a name that nobody has."""
    try:
        people = yield from _people()
    except ScopeMissing:
        return {}  # without the right to read people, names stay text
    return {name: _id_of(people, name, "markdown") for name in names}


def _people() -> Generator[Call, ServiceResponse, list[Json]]:
    return [one for one in (yield from read_directory("/users.list", "members", {})) if not one.get("deleted")]


def _id_of(people: list[Json], person: str, field: str) -> str | None:
    """Return the id of a handle or a name, None if nobody has it; InvalidRequest if several people have it."""
    name = person.removeprefix("@").casefold()
    # A handle is unique, a name is not: who is meant by handle is not asked about others of that name.
    by_handle = [one["id"] for one in people if one.get("name", "").casefold() == name]
    named = by_handle or [one["id"] for one in people if name and name in _names(one)]
    found = list(dict.fromkeys(named))  # a list that changes while it is read may show somebody twice
    if len(found) > 1:
        problem = f"several people are called {person}: {', '.join(found[:MAX_CANDIDATES])}; give the id of one"
        raise InvalidRequest(field=field, problem=problem)
    return str(found[0]) if found else None


def _names(user: Json) -> Iterator[str]:
    profile = user.get("profile") or {}
    fields = ("display_name", "display_name_normalized", "real_name", "real_name_normalized")
    return (str(profile.get(field) or "").casefold() for field in fields)


def _conversation_with(person: str, name: str) -> Lookup:
    """Find the direct messages with a person, without beginning any."""

    def is_wanted(found: Json) -> bool:
        return bool(found.get("user") == person)

    found = yield from read_directory("/users.conversations", "channels", {"types": "im"}, is_wanted)
    if wanted := next(filter(is_wanted, found), None):
        return str(wanted["id"])
    raise InvalidRequest(field="channel", problem=f"there are no direct messages with {name} yet: send_message")


def read_directory(
    path: str, rows: str, query: Json, is_wanted: Callable[[Any], bool] = lambda _: False
) -> Generator[Call, ServiceResponse, list[Any]]:
    """Read a directory up to the page with a wanted item, at most MAX_DIRECTORY_PAGES of it."""
    found: list[Any] = []
    cursor = ""
    for _ in range(MAX_DIRECTORY_PAGES):
        page = (yield Call("GET", path, given(limit=MAX_DIRECTORY_PAGE, cursor=cursor or None, **query))).json
        found += page[rows]
        cursor = (page.get("response_metadata") or {}).get("next_cursor") or ""
        if not cursor or any(map(is_wanted, page[rows])):
            break
    return found


def name_authors(messages: list[Json]) -> Generator[Call, ServiceResponse]:
    """Add the names of those who wrote most of the messages; without the right to read people, they stay ids."""
    nameless = [message for message in messages if message.get("user") and not message["row"]["name"]]
    for person, _ in Counter(message["user"] for message in nameless).most_common(MAX_NAMED_AUTHORS):
        try:
            user = (yield Call("GET", "/users.info", {"user": person})).json["user"]
        except McpistError:
            return  # the messages are worth more than the names
        for message in nameless:
            if message["user"] == person:
                message["row"]["name"] = shown_name(user.get("profile") or {})


def _unknown(field: str, name: str, tool: str) -> InvalidRequest:
    most = MAX_DIRECTORY_PAGES * MAX_DIRECTORY_PAGE
    return InvalidRequest(field=field, problem=f"{name} is not among the first {most}: give the id that {tool} shows")
