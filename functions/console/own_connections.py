"""The accounts that a person has connected, and when each was used last."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from console.visit import Visit
from mcpist.running.connected_accounts import BrokerAccounts
from mcpist.telemetry.audit_search import Filters, find

USE_DAYS = 30
MAX_READ_USES = 500


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
    uses = list(_uses(visit)) if rows else []
    return [_connection(row, uses) for row in rows]


def _uses(visit: Visit) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of the person's newest uses of tools."""
    now = datetime.now(UTC)
    since, until = now - timedelta(days=USE_DAYS), now + timedelta(minutes=1)
    filters = Filters(user=visit.caller.user, event="use")
    page = find(visit.caller.organization, since=since, until=until, filters=filters, limit=MAX_READ_USES)
    yield from page.rows


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
