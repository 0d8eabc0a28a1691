"""Slack: messages and threads, channels, people, files, reminders.

Limits are per method and workspace: 20 requests a minute for lists of people and channels, 50 for most others, one
message a second in a channel. An app that is sold outside Slack's Marketplace may read the history once a minute.
Reference: https://docs.slack.dev/reference/methods, https://docs.slack.dev/apis/web-api/rate-limits
"""

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlsplit

from pydantic import Field

from mcpist.moments import utc_text
from mcpist.toml_table import toml_beside
from mcpist.tools.declare.call import Call, ServiceResponse, given
from mcpist.tools.declare.dialect import MissingScope, RateLimited, Refusal, Refusals, TokenRefused, Unavailable
from mcpist.tools.declare.module import Module, Scopes
from mcpist.tools.declare.paging import ExtraColumns, NextPage, Paging, Position, by_field
from mcpist.tools.declare.pasted import AddressParts, address_reader, from_url
from mcpist_services.slack.block_reading import Json, message_markdown

MAX_PAGE = 200  # more are allowed, but not recommended

BY_CURSOR = Paging("limit", MAX_PAGE, ("cursor",), by_field("response_metadata.next_cursor", "cursor"))

_TOKEN_ERRORS = {
    "account_inactive",
    "invalid_auth",
    "not_allowed_token_type",
    "not_authed",
    "token_expired",
    "token_revoked",
}
_LIMITS = {"message_limit_exceeded", "rate_limited", "ratelimited"}
_OUTAGES = {"fatal_error", "internal_error", "request_timeout", "service_unavailable", "team_added_to_org"}


def _read_refusal(response: ServiceResponse) -> Refusal | None:
    """Return the refusal in a response, an HTTP 200 with `{"ok": false, "error": code}`; limits are each method's own.

    The errors are in the table on each method's page.
    """
    body = response.json if isinstance(response.json, dict) else {}
    code = str(body.get("error", ""))
    if code in _LIMITS or response.status == 429:
        return RateLimited(path_only=True)
    if body.get("ok") is not False:
        return None
    if code in _TOKEN_ERRORS:
        return TokenRefused(problem=code)
    if code == "missing_scope":
        return MissingScope(scope=str(body.get("needed", "")), problem="the account did not grant it")
    if code in _OUTAGES:
        return Unavailable(problem=code)
    return Refusal(problem="; ".join([_explained(code), *_details(body)]))


def _explained(code: str) -> str:
    hint = toml_beside(__file__, "refusals.toml").get(code)
    return f"{code}: {hint}" if hint else code or "it gave no reason"


def _details(body: dict[str, Any]) -> list[str]:
    """Return Slack's messages about single arguments."""
    about = body.get("response_metadata")
    messages = about.get("messages", []) if isinstance(about, dict) else []
    return [str(message) for message in messages] if isinstance(messages, list) else []


slack = Module(
    "slack",
    __doc__,
    api_version="2026-03",
    host="https://slack.com/api",
    labels={"*": ("internal",)},
    origins=r"https://files\.slack\.com",
    token_origins=("https://files.slack.com",),
    paging=BY_CURSOR,
    refusals=Refusals(_read_refusal),
    scopes=Scopes(),
    category="communication",
    tags=("chat", "messages", "channels"),
)

_PLACES = address_reader(
    r"/archives/(?P<channel>\w+)(?:/p(?P<seconds>\d{10})(?P<digits>\d{6}))?",
    r"/client/\w+/(?P<channel>[CDG]\w+)(?:/thread/\w+-(?P<thread_ts>[\d.]+))?",
    r"/team/(?P<user>\w+)",
    r"/files/\w+/(?P<file_id>F\w+)",
)


def _read_address(address: str) -> AddressParts:
    """Read the link to a channel, a message, a person or a file; a message is in the thread that it begins."""
    url = urlsplit(address)
    if not url.netloc.endswith(".slack.com"):
        return {}
    parts = dict(_PLACES(url.path))
    thread = dict(parse_qsl(url.query)).get("thread_ts") or parts.get("thread_ts")
    ts = f"{parts.pop('seconds')}.{parts.pop('digits')}" if "seconds" in parts else None
    return parts | given(ts=ts or thread, thread_ts=thread or ts)


Channel = Annotated[
    str,
    Field(min_length=1, max_length=200),
    from_url(_read_address, "channel", r"<#(?P<channel>\w+)(?:\|[^<>]*)?>"),
]
ChannelId = Annotated[Channel, "An id, #name, @person or a link, e.g. C0123ABCD45"]
UserId = Annotated[
    str, Field(min_length=1, max_length=200), from_url(_read_address, "user", r"<@(?P<user>\w+)(?:\|[^<>]*)?>")
]
Person = Annotated[UserId, "An id, @name or e-mail address, e.g. U0123ABCD45"]
People = Annotated[list[UserId], Field(min_length=1, max_length=30)]
FileId = Annotated[
    str,
    Field(pattern=r"^F[A-Z0-9]+$"),
    from_url(_read_address, "file_id"),
    "The id that list_files shows, e.g. F0S43PZDF",
]
Markdown = Annotated[str, Field(min_length=1, max_length=12_000)]

_TS = Field(pattern=r"^\d{10}\.\d{6}$")
Ts = Annotated[str, _TS, from_url(_read_address, "ts"), "A message's ts or link, e.g. 1512085950.000216"]
ThreadTs = Annotated[
    str, _TS, from_url(_read_address, "thread_ts"), "The ts or link of its first message, e.g. 1512085950.000216"
]


def row(message: Json, _: Json | None = None) -> Json:
    """Return the readable columns of a message as its `row`."""
    name = shown_name(message.get("user_profile") or {})
    return {"row": {"text": message_markdown(message), "time": time_of(message.get("ts")), "name": name}}


def shown_name(profile: Json) -> str | None:
    """Return the name that Slack shows for a person; None for a profile without one."""
    return profile.get("display_name") or profile.get("real_name") or None


def time_of(seconds: Any) -> str | None:
    """Return seconds since 1970 as a time in UTC; None where there are none."""
    return utc_text(float(seconds)) if seconds else None


def seconds_of(moment: str | None) -> str | None:
    """Return a moment as seconds since 1970."""
    return None if moment is None else str(int(datetime.fromisoformat(moment).timestamp()))


def cursor_paging(extra_columns: ExtraColumns) -> Paging:
    """Return the paging by cursor, with columns that are added to each item."""
    return replace(BY_CURSOR, extra_columns=extra_columns)


def page_numbers(field: str) -> NextPage:
    """Read the next page's number from the `paging` under a field."""

    def next_page(_: Call, response: ServiceResponse, __: int) -> Position:
        about = (response.json[field] if field else response.json).get("paging") or {}
        page = int(about.get("page", 1))
        return {"page": page + 1} if page < int(about.get("pages", 1)) else {}

    return next_page
