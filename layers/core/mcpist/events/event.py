"""An event: one thing that happened, as a delivery or a poll brought it in for a person."""

import hashlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened."""

    id: str
    """The same when the vendor delivers it again."""
    organization: str
    user: str
    """The id of the person whose account brought it in; nobody else's interest may hear of it."""
    type: str
    """The full name of its type, `module.name`."""
    occurred_at: int
    """In epoch seconds."""
    data: dict[str, Any]
    """The payload, as the type's schema describes it."""
    actor: str | None = None
    """The id at the vendor of the account that caused it, where the vendor says so."""
    source: str = ""
    """The id of the source that brought it in; empty for our own events."""
    depth: int = 0
    """How many automations led to it; 0 from outside."""


def event_id(source: str, delivery: str) -> str:
    """Return the id of the event that a vendor names by `delivery` within a source."""
    return hashlib.sha256(f"{source}\n{delivery}".encode()).hexdigest()[:32]
