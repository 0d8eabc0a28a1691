"""`mcpist audit`: who used which account for what, the newest first."""

import argparse
import re
from datetime import UTC, datetime, timedelta

from infra.cli.account import organization, stack
from infra.cli.document import CommandError, CommandResult
from infra.cli.table import render_table
from mcpist.telemetry.audit import find

_RELATIVE_TIME = re.compile(r"(\d{1,6})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}
_COLUMNS = ("time", "user", "event", "service", "account", "tool", "outcome", "request")


def show_audit(options: argparse.Namespace) -> CommandResult:
    """The rows, and the cursor of the next page."""
    with stack(options.stack, options.profile, options.region):
        page = find(
            organization(options),
            since=parse_time(options.since),
            until=parse_time(options.until) if options.until else datetime.now(UTC) + timedelta(minutes=1),
            user=options.user,
            service=options.service,
            limit=options.limit,
            cursor=options.cursor,
        )
    table = render_table(_COLUMNS, [[str(row[name])[:40] for name in _COLUMNS] for row in page.rows])
    more = f"\nmore with --cursor '{page.cursor}'" if page.cursor else ""
    return CommandResult(metadata={"rows": page.rows, "cursor": page.cursor}, drawing=table + more)


def parse_time(text: str) -> datetime:
    """`2026-11-21`, `2026-11-21T14:00:00Z`, or so long ago: `90m`, `12h`, `7d`; without an offset it is UTC."""
    ago = _RELATIVE_TIME.fullmatch(text)
    try:
        if ago:
            return datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (OverflowError, ValueError):
        hint = "Write 2026-11-21, 2026-11-21T14:00:00Z, or so long ago: 90m, 12h, 7d."
        raise CommandError({"code": "VALIDATION_ERROR", "message": f"{text} is no time", "hint": hint}) from None
