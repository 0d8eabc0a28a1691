"""`mcpist audit`: who did what with which account, the newest rows first, and what programs did."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from typer import Option

from infra.cli.document import CommandError, CommandResult
from infra.cli.rest_client import Access, RestSession, part
from infra.cli.table import render_table, table_rows
from mcpist.audit.rows import COMMAND_LINE_COLUMNS
from mcpist.visible_text import visible

_RELATIVE_TIME = re.compile(r"(\d{1,6})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}
EXPORT_ROWS = 1_000
COLUMNS = ("command", "runs", "failed", "files", "tokens_saved", "token_efficiency", "p50_ms", "p95_ms")
PERIOD_COLUMNS = ("period", "runs", "failed", "files", "tokens_saved")


@dataclass(frozen=True, slots=True)
class AuditRows:
    """The rows that are wanted; what is not named may have any value."""

    user: Annotated[str, Option(metavar="USER", help="Only rows of this user.")] = ""
    service: Annotated[str, Option(metavar="SERVICE", help="Only rows of this service, or `administration`.")] = ""
    event: Annotated[
        str, Option(metavar="EVENT", help="use, connect, refresh, failure, change, look, sign_in, ...")
    ] = ""
    outcome: Annotated[str, Option(metavar="CODE", help="succeeded, started, an error's code, or failed.")] = ""
    tool: Annotated[str, Option(metavar="TOOL", help="A tool, or an action such as users.update.")] = ""
    client: Annotated[str, Option(metavar="NAME", help="Only rows of the program of this name.")] = ""
    request: Annotated[str, Option(metavar="ID", help="Only rows of this request.")] = ""
    batch: Annotated[str, Option(metavar="ID", help="Only rows of this batch.")] = ""
    text: Annotated[str, Option(metavar="TEXT", help="Only rows with this text in any column.")] = ""


def show_audit(
    access: Access,
    rows: AuditRows,
    story: Annotated[
        str | None, Option(metavar="ROW", help="Show all rows of the request that this row belongs to.")
    ] = None,
    savings: Annotated[
        bool, Option("--savings", help="Show what programs did, and the tokens that it spared.")
    ] = False,
    verify: Annotated[bool, Option("--verify", help="Compare all rows with their seals.")] = False,
    head: Annotated[str, Option(metavar="DIGEST", help="With --verify: a digest that it printed before.")] = "",
    since: Annotated[str, Option(metavar="TIME", help="A day, a time, or a duration before now, such as 12h.")] = "7d",
    until: Annotated[str | None, Option(metavar="TIME", help="As --since. [default: now]")] = None,
    limit: Annotated[int, Option(metavar="ROWS", help="Rows of a page.")] = 100,
    cursor: Annotated[str, Option(metavar="CURSOR", help="Show the next page; the page before names its cursor.")] = "",
    export: Annotated[
        Literal["csv", "jsonl", "ocsf"] | None, Option(help="Export all rows in this format, from the first page on.")
    ] = None,
) -> CommandResult:
    """Show who did what with which account, the newest rows first: your own, as an administrator all."""
    session = access.session()
    if story:
        found = session.get(f"/v1/audit/{part(story)}")
        return CommandResult(metadata=found, drawing=_draw(found["rows"]))
    if verify:
        return _verify(session, head)
    times = {"since": parse_time(since).isoformat(), "until": parse_time(until).isoformat() if until else ""}
    if savings:
        return _savings(session.get("/v1/audit/savings", user=rows.user, **times))
    query = asdict(rows) | times
    return _export(session, {**query, "format": export}) if export else _page(session, query, limit, cursor)


def _draw(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a table; each row's id is whole on a line of its own, so that a narrow terminal breaks none."""
    lines = [[_cell(name, str(row[name])) for name in COMMAND_LINE_COLUMNS] for row in rows]
    head, *drawn = table_rows(COMMAND_LINE_COLUMNS, lines)
    return "\n".join([head, *(f"{line}\n  {row['id']}" for line, row in zip(drawn, rows, strict=True))])


def _verify(session: RestSession, head: str) -> CommandResult:
    """Compare all pages of seals; CommandError with the findings where something differs."""
    # The chain is whole only if all pages are, so nothing is said before the last one.
    total: dict[str, Any] = {"seals": 0, "rows": 0, "expired": 0, "findings": []}
    contains_head = not head
    for page in session.pages("/v1/audit/verification", head=head):
        total = {name: value + page[name] for name, value in total.items()}
        contains_head = contains_head or page["contains_head"]
    total |= {"head": page["head"], "sealed_until": page["sealed_until"]}
    if total["findings"] or not contains_head:
        lost = "" if contains_head else f" The chain does not contain {head}."
        message = f"{len(total['findings'])} parts of the audit are not as they were sealed.{lost}"
        raise CommandError(
            "INTEGRITY_ERROR", message, "Compare with a backup of the tables, and see who could write there.", total
        )
    return CommandResult(metadata=total, drawing="\n".join(f"{name}: {value}" for name, value in total.items()))


def _cell(name: str, value: str) -> str:
    return value[:19].replace("T", " ") if name == "time" else visible(value)[:40]


def _page(session: RestSession, query: dict[str, Any], limit: int, cursor: str) -> CommandResult:
    """Return one page of rows, and how to see the next one."""
    page = session.get("/v1/audit", **query, limit=limit, cursor=cursor)
    more = f"\nmore with --cursor '{page['cursor']}'" if page["cursor"] else ""
    return CommandResult(metadata=page, drawing=_draw(page["rows"]) + more)


def _export(session: RestSession, query: dict[str, Any]) -> CommandResult:
    """Return all pages of an export as one text, with one head."""
    texts: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        text, headers = session.text("/v1/audit", **query, limit=EXPORT_ROWS, cursor=cursor)
        # Each page of CSV repeats the head.
        head, newline, rest = text.partition("\n")
        texts.append(rest if texts and query["format"] == "csv" else head + newline + rest)
        cursor = headers.get("x-next-cursor") or None
    exported = "".join(texts)
    return CommandResult([exported], drawing=exported.rstrip("\n"))


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


def _savings(found: dict[str, Any]) -> CommandResult:
    """Return the report with its tables."""
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
