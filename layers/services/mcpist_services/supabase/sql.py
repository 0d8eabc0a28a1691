"""The SQL of the tools themselves: for the database's catalogue and the logs."""

from collections.abc import Mapping
from typing import Literal

LogSource = Literal["api", "postgres", "auth", "storage", "realtime", "functions", "function_requests"]

# Tables and views of the schemas in $1, which is comma-separated.
TABLES = """
select
  n.nspname as schema,
  c.relname as name,
  case c.relkind
    when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table' else 'table'
  end as kind,
  nullif(c.reltuples, -1) as rows,
  case when c.relkind in ('r', 'p') then c.relrowsecurity end as rls,
  (
    select string_agg(
      a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || case when a.attnotnull then ' not null' else '' end,
      ', ' order by a.attnum
    )
    from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  ) as columns,
  (
    select string_agg(a.attname, ', ' order by k.place)
    from pg_index i
    cross join unnest(i.indkey::int2[]) with ordinality as k (attnum, place)
    join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
    where i.indrelid = c.oid and i.indisprimary and k.place <= i.indnkeyatts
  ) as primary_key,
  obj_description(c.oid, 'pg_class') as comment
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
  and n.nspname = any (string_to_array($1, ','))
order by n.nspname, c.relname
""".strip()

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
