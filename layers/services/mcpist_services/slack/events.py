"""Slack's events: a person's own Slack app calls the address of the source, and signs with its signing secret.

Reference: https://docs.slack.dev/apis/events-api, https://docs.slack.dev/authentication/verifying-requests-from-slack
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mcpist.events.event_type import Argument, EventType, HookRequest, Occurrence, Signature, Webhook, event_type
from mcpist.moments import EPOCH_SECONDS

SLACK_EVENTS = {
    "messages": ("message",),
    "mentions": ("app_mention",),
    "reactions": ("reaction_added", "reaction_removed"),
}
"""Slack's own names of the types."""
NEW_MESSAGES = {None, "file_share", "thread_broadcast", "bot_message"}
"""The subtypes of messages that are not changes of earlier ones."""


def _signature(request: HookRequest) -> Signature | None:
    moment, given = request.headers.get("x-slack-request-timestamp", ""), request.headers.get("x-slack-signature", "")
    if not EPOCH_SECONDS.fullmatch(moment) or not given.startswith("v0="):
        return None
    message = f"v0:{moment}:".encode() + request.body
    return Signature(message=message, given=given.removeprefix("v0="), signed_at=int(moment))


def _occurrences(request: HookRequest, name: str) -> Iterator[Occurrence]:
    payload = json.loads(request.body)
    event = payload.get("event") or {}
    is_change = event.get("type") == "message" and event.get("subtype") not in NEW_MESSAGES
    if payload.get("type") == "event_callback" and event.get("type") in SLACK_EVENTS[name] and not is_change:
        yield Occurrence(
            delivery=payload["event_id"],
            occurred_at=payload.get("event_time"),
            data={**event, "team": payload.get("team_id")},
            actor=event.get("user") or event.get("bot_id"),
        )


def _answer(request: HookRequest) -> Mapping[str, Any] | None:
    payload = json.loads(request.body)
    return {"challenge": payload["challenge"]} if payload.get("type") == "url_verification" else None


HOOK = Webhook(signature=_signature, occurrences=_occurrences, answer=_answer)
MESSAGE = "type channel user bot_id text ts thread_ts channel_type team"
CHANNEL = Argument("channel", "Only in this channel, by its id, e.g. C0123456789")
USER = Argument("user", "Only of this person, by their id, e.g. U0123456789")


def _type(name: str, description: str, payload: str = MESSAGE, **arguments: Argument) -> EventType:
    return event_type(
        "slack",
        name,
        description,
        tool="list_messages",
        channel="app",
        payload=payload,
        arguments={**arguments, "user": USER},
        source=HOOK,
    )


TYPES = (
    _type("messages", "A message was posted where the app is a member.", channel=CHANNEL),
    _type("mentions", "Somebody mentioned the app.", channel=CHANNEL),
    _type(
        "reactions",
        "A reaction was added to a message, or removed.",
        "type user reaction item_user item.channel item.ts team",
        channel=Argument("item.channel", CHANNEL.description),
        reaction=Argument("reaction", "Only this one, without colons, e.g. eyes"),
    ),
)
