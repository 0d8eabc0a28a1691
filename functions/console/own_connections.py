"""The accounts that a person has connected, and when each was used last."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from console.activity import newest_uses
from console.visit import Visit
from mcpist.running.connected_accounts import BrokerAccounts

USE_DAYS = 30


@dataclass(frozen=True, slots=True)
class LastUse:
    """The latest use of an account."""

    time: str
    """In UTC."""
    client: str
    """The program that used it; empty where it did not say."""
    tool: str


@dataclass(frozen=True, slots=True)
class Connection:
    """An account that the person has connected."""

    services: Sequence[str]
    name: str
    scopes: Sequence[str]
    """The granted scopes; empty where they are unknown."""
    open_to: Sequence[str]
    """The roles in which it is used; empty for all."""
    works: bool
    created_at: int
    """In epoch seconds."""
    last_use: LastUse | None
    """None where the newest uses of the last days name it nowhere."""


def find_own(visit: Visit) -> Sequence[Connection]:
    """Return the person's own connections; those of roles are listed on the page of each service."""
    rows = sorted(BrokerAccounts(visit.caller).rows(f"user#{visit.caller.user}"), key=lambda row: row["services"])
    if not rows:
        return []
    now = datetime.now(UTC)
    uses = newest_uses(visit.caller.organization, visit.caller.user, now - timedelta(days=USE_DAYS), now).rows
    return [_connection(row, uses) for row in rows]


def _connection(row: Mapping[str, Any], uses: Sequence[Mapping[str, Any]]) -> Connection:
    name = row["account_name"] or row["account_id"]
    matching = (use for use in uses if use["service"] in row["services"] and use["account"] == row["account_name"])
    last = next(matching, None)
    return Connection(
        services=row["services"],
        name=name,
        scopes=row["scopes"],
        open_to=row["open_to"],
        works=row["works"],
        created_at=row["created_at"],
        last_use=LastUse(last["time"], last["client_name"], last["tool"]) if last else None,
    )
