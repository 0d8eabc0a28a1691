"""The root of the API: whether it runs, and where its tools are."""

import time
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from aws_lambda_powertools.event_handler import Response
from pydantic import Field

from mcpist.version import VERSION
from rest_api.exchange import current
from rest_api.model import Body
from rest_api.router import json_responses, new_router

HOME_PAGE, TOOLS_PAGE = "/connect", "/v1/docs"
"""The pages for people who open the API in a browser."""

router = new_router()

_started_at: list[float] = []


class StatusBody(Body):
    """The answer of `GET /`."""

    status: Literal["ok"]
    message: Literal["MCP Server is running"]
    version: str
    uptime: Annotated[float, Field(ge=0, description="Seconds since this sandbox answered its first request")]
    timestamp: str


RUNS = json_responses(StatusBody, _200="It runs")


def note_start() -> None:
    """Note when this sandbox began to answer: not its import, which a snapshot may keep for months."""
    if not _started_at:
        _started_at.append(time.time())


def timestamp() -> str:
    """Return the time in UTC, as answers have it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@router.get(
    "/", tags=["status"], summary="Whether the server runs", operation_id="get_status", security=[], responses=RUNS
)
def get_status() -> Response[StatusBody | None]:
    """Answer whether the server runs; a browser is sent to the pages for people."""
    if _accepts_html():
        return _redirect(302, HOME_PAGE)
    uptime = round(max(0.0, time.time() - _started_at[0]), 3)
    body = StatusBody(
        status="ok", message="MCP Server is running", version=VERSION, uptime=uptime, timestamp=timestamp()
    )
    return Response(200, "application/json", body)


@router.get("/tools", include_in_schema=False)
def redirect_to_tools() -> Response[None]:
    """Send a program to the list of tools, and a browser to the page about them."""
    return _redirect(302, TOOLS_PAGE if _accepts_html() else f"/v1/tools{_query()}")


@router.post("/tools/call", include_in_schema=False)
def redirect_to_call() -> Response[None]:
    """Send a program to the call of tools, with the same method and body."""
    return _redirect(307, "/v1/tools/call")


def _redirect(status: int, path: str) -> Response[Any]:
    return Response(status, headers={"location": f"{current().request.public_url}{path}"})


def _query() -> str:
    query = str(current().request.event.get("rawQueryString", ""))
    return f"?{query}" if query else ""


def _accepts_html() -> bool:
    """Whether the client prefers a page: browsers name `text/html`, and before any type of JSON."""
    accepted = current().request.headers.get("accept", "").lower()
    html, json = accepted.find("text/html"), accepted.find("json")
    return html >= 0 and (json < 0 or html < json)
