"""The first page: what waits for the person, what ran last, and the week; programs get the state of the server."""

import time
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta

from console import activity
from console.batches.watching import state_of
from console.modules import count_waiting
from console.tools.listing import permissions_of
from console.visit import Visit
from mcpist.batch.ledger.ledger import list_recent
from mcpist.batch.saved import records
from mcpist.http.browser import BrowserRequest
from mcpist.http.request import HttpResponse, json_response
from mcpist.people import client_logins, directory, invitations, questions
from mcpist.running import broker
from mcpist.spending import spent_today
from mcpist.version import VERSION

SHOWN_BATCHES = 5

_started_at: list[float] = []


def show(visit: Visit) -> HttpResponse:
    """Show the dashboard; an administrator sees the organization's errors and limits as well."""
    caller, now = visit.caller, datetime.fromtimestamp(visit.now, UTC)
    modules = list(visit.permissions.modules())
    week = activity.week_of(caller.organization, caller.user, now)
    services = sorted({module.service for module in modules if module.service})
    accounts = broker.accounts(caller, services)
    batches, _ = list_recent(caller.organization, caller.user, limit=SHOWN_BATCHES)
    connected = {row["service"] for row in accounts if row["acts"]}
    return visit.page(
        "home.html",
        modules=modules,
        tools=sum(len(visit.permissions.tools(module)) for module in modules),
        asked=directory.known(caller.subject).waiting,
        broken=[row for row in accounts if row["acts"] and not row["usable"]],
        broken_saved=_broken_saved(visit),
        connected=connected,
        first_steps=first_steps(visit, services, connected, week, has_batches=bool(batches)),
        services=services,
        batches=[(batch, state_of(batch)) for batch in batches],
        week=week,
        questions=questions.find_waiting(caller),
        failures=activity.failures_of(caller.organization, now) if visit.is_administrator else None,
        spent=spent_today(caller.organization, visit.now) if visit.is_administrator else [],
        approvals=count_waiting(permissions_of(visit)) if visit.is_administrator else {},
    )


def _broken_saved(visit: Visit) -> list[records.SavedBatch]:
    """Return the person's own saved batches whose last check failed."""
    if records.MODULE not in visit.permissions.catalogue.names:
        return []
    known = records.read(visit.caller.organization).of(visit.caller)
    return [one for one in known if one.problem and one.owner == visit.caller.user]


def show_adoption(visit: Visit) -> HttpResponse:
    """Show who used which tools in the last four weeks; the first page loads it for an administrator."""
    from mcpist.audit import adoption, uses  # a cold start need not wait for it

    now = datetime.fromtimestamp(visit.now, UTC)
    since, until = uses.first_moment(now), now + timedelta(minutes=1)
    used, is_complete = adoption.read_adoption(visit.caller.organization, since, until)
    return visit.page("adoption.html", report=adoption.summarize(used), is_complete=is_complete)


def first_steps(
    visit: Visit, services: Sequence[str], connected: Collection[str], week: activity.Week, *, has_batches: bool
) -> list[tuple[str, str, bool]]:
    """Return the name, the path and the state of each thing to do first; nothing once all of the person's own are done.

    Whether somebody else is here is looked up only until then: a large organization takes long to read.
    """
    has_client = bool(week.clients - {"", visit.caller.client.name} or client_logins.find(visit.caller.subject))
    steps = [("connect", "/connect", bool(connected)), ("try", "/tools?effect=reads", bool(week.total))]
    steps += [("run", "/workbench", has_batches), ("client", "/profile", has_client)]
    if all(done for _, _, done in steps):
        return []
    if visit.is_administrator:
        _, organization = visit.administration.read()
        has_others = len(organization.users) > 1 or bool(invitations.find(visit.caller.organization))
        offered = broker.request(visit.caller, "offer", services=services)["services"] if services else []
        steps.append(("apps", "/connect", any(one["consent"] for one in offered)))
        steps += [("roles", "/roles?new=1", len(organization.roles) > 1), ("invite", "/users?invite=1", has_others)]
    return steps


def show_status(request: BrowserRequest) -> HttpResponse:  # noqa: ARG001 - every route takes the request
    """Return that the server runs, and the seconds since this sandbox was first asked: a snapshot may be older."""
    # Set at the first request and not at import, which a snapshot may have done long ago.
    if not _started_at:
        _started_at.append(time.time())
    timestamp = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    status = {"status": "ok", "message": "MCP Server is running", "version": VERSION}
    uptime = round(max(0.0, time.time() - _started_at[0]), 3)
    return json_response(200, {**status, "uptime": uptime, "timestamp": timestamp})


def redirect_to_tools(request: BrowserRequest) -> HttpResponse:
    """Lead to the list of tools in the REST API."""
    query = str(request.event.get("rawQueryString", ""))
    location = f"{request.public_url}/v1/tools{f'?{query}' if query else ''}"
    return {"statusCode": 302, "headers": {"location": location}, "body": ""}
