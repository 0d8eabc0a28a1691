"""Logs and advice."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from mcpist.errors import InvalidRequest, ToolExecutionError
from mcpist.render.shows import shows
from mcpist.running.refusals import error_message
from mcpist.tools.declare.argument_types import UtcMoment
from mcpist.tools.declare.call import Call, Calls, PartialList
from mcpist_services.supabase.module import Limit, ProjectRef, project_path, supabase

ADVICE = shows("level", "title", "detail", "remediation", rows="lints")
MAX_LOG_WINDOW = timedelta(hours=24)
DEFAULT_LOG_WINDOW = timedelta(hours=1)
_UTC = "%Y-%m-%dT%H:%M:%SZ"
LOG_LINES = shows("timestamp", "level", "status", "method", "path", "message", rows="result")
LOG_WINDOWS = ({"iso_timestamp_start": "2026-01-31T09:00:00Z", "iso_timestamp_end": "2026-01-31T10:00:00Z"},)

# One table of ClickHouse has all logs, each line with its source; the other fields of a source are in a map.
# https://supabase.com/docs/guides/observability/log-field-reference
_SOURCES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "api": ("edge_logs", {"status": "response.status_code", "method": "request.method", "path": "request.path"}),
    "postgres": ("postgres_logs", {"level": "parsed.error_severity", "status": "parsed.sql_state_code"}),
    "auth": ("auth_logs", {"level": "level", "status": "status", "path": "path"}),
    "storage": ("storage_logs", {}),
    "realtime": ("realtime_logs", {}),
    "functions": ("function_logs", {"level": "level"}),
    "function_requests": (
        "function_edge_logs",
        {"status": "response.status_code", "method": "request.method", "path": "request.pathname"},
    ),
}

LogSource = Literal["api", "postgres", "auth", "storage", "realtime", "functions", "function_requests"]
Service = Annotated[
    LogSource, "api: requests to the data API; functions: what Edge Functions print, function_requests: their calls"
]
# https://supabase.com/docs/reference/api/v1-get-security-advisors: both are deprecated, and nothing replaces them yet.
Advice = Annotated[Literal["security", "performance"], "performance: missing or unused indexes, slow policies"]
LogStart = Annotated[UtcMoment, "At most 24 hours before the end; one hour if left out, e.g. 2026-01-31T09:00:00Z"]


@supabase.reads(LOG_LINES, "v1-get-project-logs", uses=LOG_WINDOWS)
def get_logs(
    project_ref: ProjectRef,
    service: Service,
    iso_timestamp_start: LogStart | None = None,
    iso_timestamp_end: Annotated[UtcMoment | None, "Now if left out, e.g. 2026-01-31T10:00:00Z"] = None,
    limit: Limit = 50,
) -> Calls:
    """Read what a service of a project has logged, the newest first."""
    # Both ends of the period: the endpoint fails without them, and silently loses lines of a longer one.
    # https://supabase.com/docs/reference/api/v1-get-project-logs
    until = _time("iso_timestamp_end", iso_timestamp_end) if iso_timestamp_end else datetime.now(UTC)
    since = _time("iso_timestamp_start", iso_timestamp_start) if iso_timestamp_start else until - DEFAULT_LOG_WINDOW
    if not timedelta(0) < until - since <= MAX_LOG_WINDOW:
        raise InvalidRequest(field="iso_timestamp_start", problem="it must be at most 24 hours before the end")
    window = {"iso_timestamp_start": f"{since:{_UTC}}", "iso_timestamp_end": f"{until:{_UTC}}"}
    place = project_path(project_ref, "/analytics/endpoints/logs")
    return _logs(Call("GET", place, {"sql": _query_of(service, limit), **window}), limit)


@supabase.reads(ADVICE, "v1-get-security-advisors", uses=({}, {"about": "performance"}))
def list_advisors(project_ref: ProjectRef, about: Advice = "security") -> Call:
    """List what is unsafe in a project, such as tables without row level security, or slow, and how to fix it."""
    return Call("GET", project_path(project_ref, f"/advisors/{about}"))


def _time(field: str, text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InvalidRequest(field=field, problem="it is not a valid time") from None


def _logs(call: Call, limit: int) -> Calls:
    """Return the lines; the endpoint reports its failures in an answer with a success status."""
    answer = yield call
    if answer.json.get("error"):
        problem = error_message(answer.json["error"]) or "no logs"
        raise ToolExecutionError(service=supabase.name, http_status=answer.status, problem=problem)
    if len(answer.json.get("result") or []) < limit:
        return answer.json
    return PartialList(answer.json, f"Cut after {limit} lines: raise limit, or end before the last one shown.")


def _query_of(service: str, limit: int) -> str:
    """Return the query for the newest log lines of a service."""
    source, attributes = _SOURCES[service]
    known = [f"log_attributes['{attribute}'] as {column}" for column, attribute in attributes.items()]
    if "level" not in attributes:
        known.append("severity_text as level")
    columns = ", ".join(["timestamp", *known, "event_message as message"])
    return f"select {columns} from logs where source = '{source}' order by timestamp desc limit {limit}"  # noqa: S608  # nosec B608
