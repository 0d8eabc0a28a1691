"""The audit: who did what with which account, with filters, pages and an export; and what programs did and saved.

An administrator sees all rows of the organization, everybody else those about themselves.
"""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import BaseModel, Field, create_model

from mcpist.audit import adoption
from mcpist.audit.exports import EXPORTS
from mcpist.audit.rows import column_types
from mcpist.audit.savings import read_uses, summarize
from mcpist.audit.search import MAX_ROWS, Filters, find, find_story
from mcpist.audit.uses import first_moment
from mcpist.audit.verification import VerificationPage, verify
from mcpist_services.catalogue import CATALOGUE
from rest_api.administration.changes import administration
from rest_api.exchange import current, in_utc
from rest_api.router import Day, Moment, Operations

DEFAULT_AUDIT_DAYS, DEFAULT_SAVINGS_DAYS = 7, 28
CURSOR_HEADER = "x-next-cursor"

router = Operations("administration")


_COLUMNS: Any = {name: (kind, Field(description=text)) for name, kind, text in column_types()}


class AuditRow(create_model("AuditColumns", **_COLUMNS)):  # type: ignore[misc]
    """One thing that happened, or was refused."""


class AuditPage(BaseModel):
    """Some rows, the newest first."""

    rows: list[AuditRow]
    cursor: Annotated[
        str,
        Field(description="Where the next page begins; empty on the last page. A page before it may be short or empty"),
    ]


class AuditStory(BaseModel):
    """All rows of one request, the oldest first: of the endpoint, its steps and the token broker."""

    row: AuditRow
    rows: list[AuditRow]
    complete: Annotated[bool, Field(description="False where there are more rows than can be read at once")]


def _filter(description: str) -> Any:
    return Query(max_length=256, description=description)


TEXT = {"schema": {"type": "string"}}
FOUND: Any = {
    200: {
        "description": "A page of rows",
        "content": {"application/json": {"model": AuditPage}, "text/csv": TEXT, "application/x-ndjson": TEXT},
    }
}


@router.operation("GET", "/v1/audit", "Search the audit", FOUND)
def search_audit(
    since: Annotated[Moment | None, Query(description="The first moment; a week ago if it is left out")] = None,
    until: Annotated[Moment | None, Query(description="The moment after the last; now if it is left out")] = None,
    user: Annotated[str, _filter("Only rows of this user")] = "",
    service: Annotated[str, _filter("Only rows of this service, or `administration`")] = "",
    event: Annotated[
        str, _filter("use, connect, refresh, failure, revoke, kill, change, look, approval, sign_in or sign_out")
    ] = "",
    outcome: Annotated[str, _filter("`succeeded`, `started`, the code of an error, or `failed` for all errors")] = "",
    tool: Annotated[str, _filter("A tool such as module.create_issue, or an action such as users.update")] = "",
    request: Annotated[str, _filter("Only rows of this request")] = "",
    batch: Annotated[str, _filter("Only rows of this batch")] = "",
    client: Annotated[str, _filter("Only rows of the program of this name")] = "",
    correlation: Annotated[str, _filter("Only rows of this first request")] = "",
    trace: Annotated[str, _filter("Only rows of this W3C trace")] = "",
    text: Annotated[str, _filter("Only rows with this text in any column")] = "",
    limit: Annotated[int, Query(ge=1, le=MAX_ROWS)] = 100,
    cursor: Annotated[str, Query(max_length=128, description="The cursor of the page before")] = "",
    format_: Annotated[Literal["json", "csv", "jsonl", "ocsf"], Query(alias="format")] = "json",
) -> Response[AuditPage | str]:
    """Search rows, the newest first; the other formats name the cursor in the header `x-next-cursor`.

    Without the right to administer only your own rows are searched.
    """
    first, last = _window(since, until, DEFAULT_AUDIT_DAYS)
    organization = current().caller.organization
    who = _visible_user(user)
    filters = Filters(who, service, event, outcome, tool, request, batch, client, correlation, trace, text)
    page = find(organization, since=first, until=last, filters=filters, limit=limit, cursor=cursor)
    if format_ == "json":
        return Response(200, "application/json", AuditPage.model_validate({"rows": page.rows, "cursor": page.cursor}))
    media_type, write = EXPORTS[format_]
    headers = {CURSOR_HEADER: page.cursor, "content-disposition": f'attachment; filename="audit.{format_}"'}
    return Response(200, media_type, write(page.rows, organization), headers=headers)


@router.operation("GET", "/v1/audit/verification", "Verify the audit's seals")
def verify_audit(
    since: Annotated[Day | None, Query(description="The first day; the oldest seal if it is left out")] = None,
    head: Annotated[str, Query(max_length=64, description="A digest that the chain must contain")] = "",
    cursor: Annotated[str, Query(max_length=256, description="The cursor of the page before")] = "",
) -> VerificationPage:
    """Compare a page of seals with the chain and with the rows that they cover; the last page has no cursor."""
    work = administration()
    with work.permitted("audit.verify", event="look"):
        begin = since.isoformat() if since else "0"
        return verify(work.caller.organization, datetime.now(UTC), since=begin, head=head, cursor=cursor)


@router.operation("GET", "/v1/audit/<row>", "Show a row with its story")
def get_audit_row(row: str) -> AuditStory:
    """Show a row and all rows of the request that it belongs to; yours, unless you are an administrator."""
    story = find_story(current().caller.organization, row, user=_visible_user(""))
    return AuditStory.model_validate({"row": story.row, "rows": story.rows, "complete": story.is_complete})


class Totals(BaseModel):
    """The work of some runs; sizes, times and tokens are those of the runs that succeeded."""

    runs: int
    failed: int
    files: Annotated[int, Field(description="The files that they left")]
    input_bytes: int
    tokens_before: Annotated[int, Field(description="The estimated tokens of all that they left")]
    tokens_after: Annotated[int, Field(description="The estimated tokens of their answers")]
    tokens_saved: int
    token_efficiency: Annotated[float, Field(description="The share of the tokens that was not sent")]
    p50_ms: int
    p95_ms: int


class CommandTotals(Totals):
    """The work of the runs of one tool."""

    command: str


class Period(BaseModel):
    """The work of a day or a week."""

    period: Annotated[str, Field(description="A day such as 2026-11-22, or a week such as 2026-W47, in UTC")]
    runs: int
    failed: int
    files: int
    tokens_saved: int


class ErrorRate(BaseModel):
    """The number of runs that failed in one way."""

    code: str
    runs: int
    rate: Annotated[float, Field(description="The share of all runs")]


class Savings(Totals):
    """The work of programs between two moments."""

    since: str
    until: str
    days: list[Period]
    weeks: list[Period]
    commands: list[CommandTotals]
    errors: list[ErrorRate]
    complete: Annotated[bool, Field(description="False where there are more rows than can be read at once")]


@router.operation("GET", "/v1/audit/savings", "Show what programs did and saved")
def get_savings(
    since: Annotated[Moment | None, Query(description="The first moment; 28 days ago if it is left out")] = None,
    until: Annotated[Moment | None, Query(description="The moment after the last; now if it is left out")] = None,
    user: Annotated[str, Query(max_length=256, description="Only what this user ran")] = "",
) -> Savings:
    """Show runs, files, times, errors and saved tokens of programs: your own, as an administrator all."""
    first, last = _window(since, until, DEFAULT_SAVINGS_DAYS)
    modules = [name for name, module in CATALOGUE.index.modules.items() if module.kind == "program"]
    rows, is_complete = read_uses(current().caller.organization, modules, first, last, _visible_user(user))
    times = {"since": first.isoformat(timespec="seconds"), "until": last.isoformat(timespec="seconds")}
    return Savings.model_validate({**summarize(rows), **times, "complete": is_complete})


class ErrorCount(BaseModel):
    """The number of uses that failed in one way."""

    code: str
    uses: int


class Adoption(BaseModel):
    """The uses of tools of some rows."""

    uses: Annotated[int, Field(description="Calls and steps that ended, also those that were refused")]
    failed: int
    people: Annotated[int, Field(description="The users who made them, programs among them")]
    tools_used: int
    tokens_saved: Annotated[int, Field(description="The estimated tokens that programs spared")]
    slowest_ms: Annotated[int, Field(description="The longest run of a program; others are not timed in the audit")]
    errors: list[ErrorCount]


class WeekAdoption(Adoption):
    """The uses of one week."""

    week: Annotated[str, Field(description="A week such as 2026-W47, in UTC")]


class ToolAdoption(Adoption):
    """The uses of one tool."""

    tool: str


class ServiceAdoption(Adoption):
    """The uses of one module."""

    service: str


class ClientAdoption(Adoption):
    """The uses from one program, as it names itself."""

    client: str


class UserAdoption(Adoption):
    """The uses of one user."""

    user: str


class FailingAccount(BaseModel):
    """An account whose last event is a failure."""

    service: str
    account: str
    user: str
    time: str
    code: str


class AdoptionReport(Adoption):
    """The uses between two moments; tools, services, clients and users are the twenty most used."""

    since: str
    until: str
    weeks: list[WeekAdoption]
    tools: list[ToolAdoption]
    services: list[ServiceAdoption]
    clients: list[ClientAdoption]
    users: list[UserAdoption]
    failing_accounts: list[FailingAccount]
    complete: Annotated[bool, Field(description="False where more than 10,000 rows are not counted yet")]


@router.operation("GET", "/v1/audit/adoption", "Show who uses which tools")
def get_adoption(
    since: Annotated[Moment | None, Query(description="The first moment; the Monday of 28 days ago by default")] = None,
    until: Annotated[Moment | None, Query(description="The moment after the last; now if it is left out")] = None,
) -> AdoptionReport:
    """Show uses by week, tool, service and client, and failing accounts: your own, as an administrator all."""
    first, last = _window(since or first_moment(datetime.now(UTC)), until, 0)
    uses, is_complete = adoption.read_adoption(current().caller.organization, first, last, _visible_user(""))
    times = {"since": first.isoformat(timespec="seconds"), "until": last.isoformat(timespec="seconds")}
    return AdoptionReport.model_validate({**adoption.summarize(uses), **times, "complete": is_complete})


def _visible_user(user: str) -> str:
    """Return the user whose rows the caller may see, empty for all; another's need the right to administer."""
    caller = current().caller
    if caller.system_role != "admin" and not user:
        return caller.user
    if user != caller.user:
        # Whoever asks for another's rows without the right to it has a row.
        with administration().permitted("audit.read", event="look"):
            pass
    return user


def _window(since: datetime | None, until: datetime | None, days: int) -> tuple[datetime, datetime]:
    """Return the moments between which rows are read, in UTC; without `since` the last days."""
    now = datetime.now(UTC)
    # A minute ahead, since other sandboxes' clocks write the rows.
    return in_utc(since or now - timedelta(days=days)), in_utc(until or now + timedelta(minutes=1))
