"""Attempts: that each interest has dealt with each event once, as items of the events' table.

Under `pk` ORGANIZATION#attempts#INTEREST:
    EVENT                  the attempts of this interest to deal with an event
"""

from dataclasses import dataclass
from typing import Any

from mcpist.aws.clients import ConditionFailed
from mcpist.aws.table import events_table
from mcpist.events.event import Event
from mcpist.events.interests import Interest
from mcpist.events.store import KEPT_SECONDS, due

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
