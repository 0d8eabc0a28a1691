"""The page `/logs`: the audit with filters, the story of one row, and its export."""

import re
from datetime import UTC, datetime, timedelta
from typing import get_args

from console.tools.listing import permissions_of
from console.visit import Visit
from mcpist.audit.exports import EXPORTS
from mcpist.audit.record import ADMINISTRATION, Event
from mcpist.audit.search import FAILED, MAX_ROWS, Filters, Page, find, find_story
from mcpist.errors import InvalidRequest
from mcpist.http.page import download
from mcpist.http.request import HttpResponse

DAYS = (1, 7, 30, 90)
LOG_PAGE_ROWS = 50
FILTERS = ("user", "service", "tool", "event", "outcome", "client", "text")
EVENTS = get_args(Event.__value__)
MAX_FILTER_CHARACTERS = 256


def show(visit: Visit) -> HttpResponse:
    """Show rows and the story of one, or export as many as one search reads."""
    query = visit.request.query
    if query.get("format"):
        form = query["format"]
        if form not in EXPORTS:
            raise InvalidRequest(field="format", problem=f"it is one of {', '.join(EXPORTS)}")
        media_type, write = EXPORTS[form]
        rows = _search(visit, MAX_ROWS).rows
        return download(visit.request, write(rows, visit.caller.organization).encode(), media_type, f"audit.{form}")
    organization = visit.caller.organization
    story = find_story(organization, query["id"]) if query.get("id") else None
    return visit.page(
        "logs.html",
        page=_search(visit, LOG_PAGE_ROWS),
        story=story,
        days=_days(visit),
        all_days=DAYS,
        events=EVENTS,
        services=[ADMINISTRATION, *permissions_of(visit).catalogue.index.modules],
        outcomes=("succeeded", "started", FAILED),
    )


def own_rows(visit: Visit) -> Page:
    """Return a page of the person's own rows."""
    return _find(visit, Filters(user=visit.caller.user), DAYS[-1], LOG_PAGE_ROWS)


def _search(visit: Visit, limit: int) -> Page:
    query = visit.request.query
    given = {name: query.get(name, "").strip()[:MAX_FILTER_CHARACTERS] for name in FILTERS}
    return _find(visit, Filters(**given), _days(visit), limit)


def _find(visit: Visit, filters: Filters, days: int, limit: int) -> Page:
    # A minute ahead, since other sandboxes' clocks write the rows.
    until, cursor = datetime.now(UTC) + timedelta(minutes=1), visit.request.query.get("cursor", "")
    since = until - timedelta(days=days)
    return find(visit.caller.organization, since=since, until=until, filters=filters, limit=limit, cursor=cursor)


def _days(visit: Visit) -> int:
    text = visit.request.query.get("days", str(DAYS[1]))
    if not re.fullmatch("[0-9]{1,3}", text) or int(text) not in DAYS:
        raise InvalidRequest(field="days", problem=f"it is one of {', '.join(map(str, DAYS))}")
    return int(text)
