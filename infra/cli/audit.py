"""`mcpist audit`: who used which account for which tool, the newest rows first."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated

from typer import Option

from infra.cli.document import CommandError, CommandResult
from infra.cli.options import OrganizationOption, Target, with_target
from infra.cli.table import render_table
from infra.cli.target import opened, organization_of
from mcpist.telemetry.audit_search import Filters, find

_RELATIVE_TIME = re.compile(r"(\d{1,6})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}
_COLUMNS = ("time", "user", "event", "service", "account", "tool", "outcome", "request")


@with_target
def show_audit(
    target: Target,
    user: Annotated[str, Option(metavar="USER", help="Only rows of this user.")] = "",
    service: Annotated[str, Option(metavar="SERVICE", help="Only rows of this service.")] = "",
    since: Annotated[str, Option(metavar="TIME", help="A day, a time, or a duration before now, such as 12h.")] = "7d",
    until: Annotated[str | None, Option(metavar="TIME", help="As --since. [default: now]")] = None,
    limit: Annotated[int, Option(metavar="ROWS", help="Rows of a page.")] = 100,
    cursor: Annotated[str, Option(metavar="CURSOR", help="Show the next page; the page before names its cursor.")] = "",
    organization: OrganizationOption = None,
) -> CommandResult:
    """Show who used which account for which tool, the newest rows first."""
    with opened(target):
        page = find(
            organization_of(target, organization),
            since=parse_time(since),
            until=parse_time(until) if until else datetime.now(UTC) + timedelta(minutes=1),
            filters=Filters(user, service),
            limit=limit,
            cursor=cursor,
        )
    table = render_table(_COLUMNS, [[str(row[name])[:40] for name in _COLUMNS] for row in page.rows])
    more = f"\nmore with --cursor '{page.cursor}'" if page.cursor else ""
    return CommandResult(metadata={"rows": page.rows, "cursor": page.cursor}, drawing=table + more)


def parse_time(text: str) -> datetime:
    """Parse `2026-11-21`, `2026-11-21T14:00:00Z` or a duration before now, such as `12h`; the default zone is UTC."""
    ago = _RELATIVE_TIME.fullmatch(text)
    try:
        if ago:
            return datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (OverflowError, ValueError):
        hint = "Write 2026-11-21, 2026-11-21T14:00:00Z, or a duration before now: 90m, 12h, 7d."
        raise CommandError("VALIDATION_ERROR", f"{text} is not a time", hint) from None
