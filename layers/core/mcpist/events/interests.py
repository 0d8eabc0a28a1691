"""Interests: who wants to hear of events of a type, and that each deals with each event once.

Items of the events' table, under `pk` ORGANIZATION#interests:
    TYPE#ID                an interest
and under ORGANIZATION#attempts#INTEREST:
    EVENT                  the attempts of this interest to deal with an event
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from mcpist.aws.attributes import decode, encode
from mcpist.aws.clients import ConditionFailed
from mcpist.aws.table import events_table
from mcpist.errors import TooManyInterests
from mcpist.events.event import Event
from mcpist.events.store import KEPT_SECONDS, due
from mcpist.memory import Memory

MAX_INTERESTS = 100
"""Of one person."""
WANTED_SECONDS = 15
MAX_CACHED_TYPES = 1_000

type Kind = Literal["automation", "callback"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interest:
    """Somebody's wish to hear of the events of a type."""

    id: str
    organization: str
    user: str
    """The id of the person, whose sources bring the events in."""
    role: str = ""
    """The only role that counts; empty for all of the person's roles."""
    type: str
    """The full name of the event type."""
    arguments: dict[str, Any] = field(default_factory=dict)
    kind: Kind
    target: dict[str, Any] = field(default_factory=dict)
    """What to do with an event, as the kind reads it; no secret that is not sealed."""


_wanted: Memory[tuple[str, str], bool] = Memory(WANTED_SECONDS, MAX_CACHED_TYPES)


def add(interest: Interest) -> None:
    """Store an interest, in the place of one with the same id and type."""
    others = [one for one in of_user(interest.organization, interest.user) if one.id != interest.id]
    if len(others) >= MAX_INTERESTS:
        raise TooManyInterests(limit=MAX_INTERESTS)
    events_table().put({"pk": _partition(interest.organization), "sk": _key(interest), **encode(interest)})
    _wanted.clear()


def remove(interest: Interest) -> bool:
    """Delete an interest, and return whether it existed."""
    return events_table().delete(_partition(interest.organization), _key(interest))


def of(organization: str, type_: str) -> list[Interest]:
    """Return all interests of an organization in a type."""
    return [decode(Interest, item) for item in events_table().query(_partition(organization), f"{type_}#")]


def of_user(organization: str, user: str) -> list[Interest]:
    """Return all interests of a person."""
    found = (decode(Interest, item) for item in events_table().query(_partition(organization)))
    return [interest for interest in found if interest.user == user]


def find(organization: str, type_: str, id_: str) -> Interest | None:
    """Return an interest as it is now; None if there is none."""
    item = events_table().get(_partition(organization), f"{type_}#{id_}")
    return decode(Interest, item) if item else None


def is_wanted(organization: str, type_: str) -> bool:
    """Whether anybody asked for a type, as it was within the last seconds."""
    return _wanted.get_or_make((organization, type_), lambda: bool(of(organization, type_)))


def _partition(organization: str) -> str:
    return f"{organization}#interests"


def _key(interest: Interest) -> str:
    return f"{interest.type}#{interest.id}"


ATTEMPT_SECONDS = 90
"""After it an attempt counts as dead, as its function has ended."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """The right to deal with an event for an interest, until it is settled or its lease is over."""

    pk: str
    sk: str
    number: int
    """1 for the first attempt."""


class AttemptRunning(Exception):  # a signal to the queue, not an error of ours
    """Another attempt is going on: its function may be killed, so the message must come again."""


def claim(interest: Interest, event: Event, now: float) -> Attempt | None:
    """Return the attempt; None before the next one is due, and after the last. AttemptRunning while another goes on."""
    pk, sk = f"{interest.organization}#attempts#{interest.id}", event.id
    values: dict[str, Any] = {
        ":one": 1,
        ":until": int(now) + ATTEMPT_SECONDS,
        ":end": int(now) + KEPT_SECONDS,
        ":now": int(now),
    }
    values |= {":organization": event.organization, ":interest": interest.id, ":type": interest.type}
    try:
        item = events_table().update(
            pk,
            sk,
            "ADD #number :one SET #until = :until, #expires_at = :end, "
            "#organization = :organization, #interest = :interest, #type = :type REMOVE #due_key, #due_at",
            values=values,
            condition="attribute_not_exists(pk) OR #until < :now",
        )
    except ConditionFailed:
        item = events_table().get(pk, sk) or {}
        if "until" in item and "due_at" not in item:
            raise AttemptRunning from None
        return None
    return Attempt(pk, sk, item["number"])


def settle(attempt: Attempt) -> None:
    """Note that an event is dealt with for good."""
    events_table().update(attempt.pk, attempt.sk, "REMOVE #until SET #settled = :yes", values={":yes": True})


def give_up(attempt: Attempt) -> None:
    """Let the next attempt begin at once."""
    events_table().set(attempt.pk, attempt.sk, {"until": 0})


def again(attempt: Attempt, at: float) -> None:
    """Have the event dealt with again at a moment (epoch seconds)."""
    events_table().set(attempt.pk, attempt.sk, {"until": int(at) - 1, **due(at)})
