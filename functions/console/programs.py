"""Answers for programs at addresses that are pages for people: whether the server runs, and where its tools are."""

import time
from datetime import UTC, datetime

from console.http.request import Request
from mcpist.http.request import HttpResponse, json_response
from mcpist.version import VERSION

_started_at: list[float] = []


def show_status(request: Request) -> HttpResponse:  # noqa: ARG001 - every route takes the request
    """Return that the server runs, and the seconds since this sandbox was first asked: a snapshot may be older."""
    if not _started_at:
        _started_at.append(time.time())
    timestamp = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    status = {"status": "ok", "message": "MCP Server is running", "version": VERSION}
    uptime = round(max(0.0, time.time() - _started_at[0]), 3)
    return json_response(200, {**status, "uptime": uptime, "timestamp": timestamp})


def redirect_to_tools(request: Request) -> HttpResponse:
    """Lead to the list of tools in the REST API."""
    query = str(request.event.get("rawQueryString", ""))
    location = f"{request.public_url}/v1/tools{f'?{query}' if query else ''}"
    return {"statusCode": 302, "headers": {"location": location}, "body": ""}
