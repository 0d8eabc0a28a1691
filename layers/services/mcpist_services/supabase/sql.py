"""The SQL of the tools themselves: for the database's catalogue and the logs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

LogSource = Literal["api", "postgres", "auth", "storage", "realtime", "functions", "function_requests"]

# Tables and views of the schemas in $1, which is comma-separated.
TABLES = Path(__file__).with_name("tables.sql").read_text("utf-8").strip()

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


def logs_of(service: str, limit: int) -> str:
    """Return the query for the newest log lines of a service."""
    source, attributes = _SOURCES[service]
    known = [f"log_attributes['{attribute}'] as {column}" for column, attribute in attributes.items()]
    if "level" not in attributes:
        known.append("severity_text as level")
    columns = ", ".join(["timestamp", *known, "event_message as message"])
    return f"select {columns} from logs where source = '{source}' order by timestamp desc limit {limit}"  # noqa: S608  # nosec B608
