"""`mcpist audit`: who used which account for what, the newest first."""

import argparse
import re
from datetime import UTC, datetime, timedelta

from infra.cli.account import organization, stack
from infra.cli.document import Done, Failed
from infra.cli.table import drawn
from mcpist.telemetry.audit import find

_AGO = re.compile(r"(\d{1,6})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}
_SHOWN = ("time", "user", "event", "service", "account", "tool", "outcome", "request")


def audited(options: argparse.Namespace) -> Done:
    """The rows, and the cursor of the next page."""
    with stack(options.stack, options.profile, options.region):
        page = find(
            organization(options),
            since=moment(options.since),
            until=moment(options.until) if options.until else datetime.now(UTC) + timedelta(minutes=1),
            user=options.user,
            service=options.service,
            limit=options.limit,
            cursor=options.cursor,
        )
    table = drawn(_SHOWN, [[str(row[name])[:40] for name in _SHOWN] for row in page.rows])
    more = f"\nmore with --cursor '{page.cursor}'" if page.cursor else ""
    return Done(metadata={"rows": page.rows, "cursor": page.cursor}, drawing=table + more)


def moment(text: str) -> datetime:
    """`2026-11-21`, `2026-11-21T14:00:00Z`, or so long ago: `90m`, `12h`, `7d`; without an offset it is UTC."""
    ago = _AGO.fullmatch(text)
    try:
        if ago:
            return datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (OverflowError, ValueError):
        hint = "Write 2026-11-21, 2026-11-21T14:00:00Z, or so long ago: 90m, 12h, 7d."
        raise Failed({"code": "VALIDATION_ERROR", "message": f"{text} is no time", "hint": hint}) from None
