"""The first page: what waits for the person, what ran last, and what the week was like."""

from datetime import UTC, datetime
from typing import Any

from console import activity
from console.batches.watching import state_of
from console.modules import count_waiting
from console.tools.listing import permissions_of
from console.visit import Visit
from mcpist.batch.ledger.ledger import list_recent
from mcpist.http.request import HttpResponse
from mcpist.people import questions
from mcpist.running import broker

SHOWN_BATCHES = 5


def show(visit: Visit) -> HttpResponse:
    """Show the dashboard; an administrator sees the organization's errors as well."""
    caller, now = visit.caller, datetime.fromtimestamp(visit.now, UTC)
    modules = list(visit.permissions.modules())
    week = activity.week_of(caller.organization, caller.user, now)
    accounts = _accounts(visit, sorted({module.service for module in modules if module.service}))
    batches = list_recent(caller.organization, caller.user, limit=SHOWN_BATCHES).batches
    return visit.page(
        "home.html",
        modules=modules,
        tools=sum(len(visit.permissions.tools(module)) for module in modules),
        broken=[row for row in accounts if row["acts"] and not row["usable"]],
        connected={row["service"] for row in accounts if row["acts"]},
        services=sorted({module.service for module in modules if module.service}),
        batches=[(batch, state_of(batch)) for batch in batches],
        week=week,
        bars=activity.bars(week.days),
        questions=questions.find_waiting(caller),
        failures=activity.failures_of(caller.organization, now) if visit.is_administrator else None,
        approvals=count_waiting(permissions_of(visit)) if visit.is_administrator else {},
    )


def _accounts(visit: Visit, services: list[str]) -> list[dict[str, Any]]:
    """Return the accounts with which the person's tools act."""
    if not services:
        return []
    rows: list[dict[str, Any]] = broker.request(visit.caller, "status", services=services)["grants"]
    return rows
