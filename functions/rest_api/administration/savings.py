"""Savings: what programs did for the organization, and how many tokens their files spared its models."""

from datetime import datetime
from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import BaseModel, Field

from mcpist.audit.savings import read_uses, summarize
from mcpist_services.catalogue import CATALOGUE
from rest_api.administration.audit import visible_user, window
from rest_api.exchange import current
from rest_api.router import Operations

DEFAULT_SAVINGS_DAYS = 28

router = Operations("administration")


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
    since: Annotated[datetime | None, Query(description="The first moment; 28 days ago if it is left out")] = None,
    until: Annotated[datetime | None, Query(description="The moment after the last; now if it is left out")] = None,
    user: Annotated[str, Query(max_length=256, description="Only what this user ran")] = "",
) -> Savings:
    """Show runs, files, times, errors and saved tokens of programs: your own, as an administrator all."""
    first, last = window(since, until, DEFAULT_SAVINGS_DAYS)
    modules = [name for name, module in CATALOGUE.index.modules.items() if module.kind == "program"]
    used = read_uses(current().caller.organization, modules, first, last, visible_user(user))
    times = {"since": first.isoformat(timespec="seconds"), "until": last.isoformat(timespec="seconds")}
    return Savings.model_validate({**summarize(used.rows), **times, "complete": used.is_complete})
