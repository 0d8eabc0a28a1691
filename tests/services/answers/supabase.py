"""Supabase's answers: keys, rows of tables, and logs, which its description leaves open."""

from typing import Any

TABLES = [
    {
        "schema": "public",
        "name": "orders",
        "kind": "table",
        "rows": 1234,
        "rls": True,
        "columns": "id bigint not null, status text not null",
        "primary_key": "id",
        "comment": None,
    },
    {
        "schema": "public",
        "name": "open_orders",
        "kind": "view",
        "rows": None,
        "rls": None,
        "columns": "id bigint, status text",
        "primary_key": None,
        "comment": "Those that are not closed",
    },
]
ROWS = [{"id": number, "status": "open", "customer": {"name": f"Ada {number}"}} for number in range(1, 6)]
SECRET = "sb_secret_" + "0123456789abcdefghijk_AbCdEfGh"
KEYS = [
    {"id": "legacy", "type": "legacy", "name": "service_role", "api_key": "eyJhbGciOi.service.role-signature"},
    {"id": "legacy", "type": "legacy", "name": "anon", "api_key": "eyJhbGciOi.anon.anon-signature"},
    {"id": "1", "type": "secret", "name": "default", "api_key": SECRET, "prefix": "sb_secret_01234", "hash": "5f1e"},
    {"id": "2", "type": "publishable", "name": "default", "api_key": "sb_publishable_0123456789abcdefghijkl_AbCdEfG"},
]

ANSWERS: dict[str, Any] = {
    "v1-get-project-api-keys": KEYS,
    "v1-read-only-query": lambda call: TABLES if "pg_class" in call.json["query"] else ROWS,
    "v1-run-a-query": ROWS,
    "v1-get-project-logs": {
        "result": [
            {
                "timestamp": "2026-01-31T09:34:06.215000",
                "level": "",
                "status": "200",
                "method": "GET",
                "path": "/rest/v1/orders",
                "message": "GET | 200 | /rest/v1/orders",
            }
        ]
    },
    "select": ROWS,
    "insert": ROWS,
    "update": ROWS,
    "delete": ROWS,
    "rpc": ROWS,
}

# The description is older than the day on which the logs moved to another path; all else of them stayed.
MOVED = {"/analytics/endpoints/logs": "/analytics/endpoints/logs.all"}
