"""`mcpist audit --savings`: what programs did, by day, by week and by command."""

from datetime import datetime
from typing import Any

from infra.cli.document import CommandResult
from infra.cli.rest_client import RestSession
from infra.cli.table import render_table

COLUMNS = ("command", "runs", "failed", "files", "tokens_saved", "token_efficiency", "p50_ms", "p95_ms")
PERIOD_COLUMNS = ("period", "runs", "failed", "files", "tokens_saved")


def show_savings(session: RestSession, since: datetime, until: datetime | None, user: str) -> CommandResult:
    """Return the report with its tables."""
    times = {"since": since.isoformat(), "until": until.isoformat() if until else ""}
    found = session.get("/v1/audit/savings", user=user, **times)
    tokens = (
        f"{found['tokens_saved']:,} of {found['tokens_before']:,} tokens not sent ({found['token_efficiency']:.1%})"
    )
    lines = [
        f"{found['runs']} runs, {found['failed']} failed; {found['files']} files; p50 {found['p50_ms']} ms, "
        f"p95 {found['p95_ms']} ms; {tokens}",
        *_table(COLUMNS, found["commands"]),
        *_table(PERIOD_COLUMNS, found["days"]),
        *_table(PERIOD_COLUMNS, found["weeks"]),
        *_table(("code", "runs", "rate"), found["errors"]),
    ]
    if not found["complete"]:
        lines.append("There are more rows than one report reads: ask for less with --since, --until or --user.")
    return CommandResult(metadata=found, drawing="\n".join(lines))


def _table(columns: tuple[str, ...], rows: list[dict[str, Any]]) -> list[str]:
    return ["", render_table(columns, [[str(row[name]) for name in columns] for row in rows])] if rows else []
