"""Supabase's answers: keys, rows of tables, and logs, which its description leaves open."""

from typing import Any

import httpx2

from tests.services.answers.additions import add

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

SOURCES_TYPE = "multipart/form-data; boundary=b1"
SOURCES = (
    '--b1\r\nContent-Disposition: form-data; name="metadata"\r\n\r\n{}\r\n'
    '--b1\r\nContent-Disposition: form-data; name="file"; filename="index.ts"\r\n'
    "Content-Type: text/plain\r\n\r\nDeno.serve(() => new Response('設計'))\n\r\n--b1--\r\n"
)

ANSWERS: dict[str, Any] = {
    "v1-get-project-api-keys": KEYS,
    "v1-read-only-query": lambda call: TABLES if "pg_class" in call.json["query"] else ROWS,
    "v1-run-a-query": ROWS,
    "v1-get-a-function-body": lambda _: httpx2.Response(200, headers={"content-type": SOURCES_TYPE}, text=SOURCES),
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

# The documentation has an origin of its own.
HOSTS = {"https://supabase.com": "https://api.supabase.com"}
# The description is older than the day on which the logs moved to another path; all else of them stayed.
MOVED = {"/analytics/endpoints/logs": "/analytics/endpoints/logs.all"}


def amend(document: dict[str, Any]) -> None:
    """Add what https://supabase.com/docs/reference/api says besides, and the search of the documentation."""
    if "/v1/projects/{ref}/functions" not in document["paths"]:
        return  # PostgREST's
    names = ("name", "organization_slug", "db_pass")
    project = dict.fromkeys((*names, "region"), "string")
    made = {"ref": "abcdefghijklmnopqrst", "id": "abcdefghijklmnopqrst", "name": "orders", "region": "us-east-1"}
    made |= {"status": "COMING_UP"}
    add(document, "POST /v1/projects", "v1-create-a-project", body=project, required=names, answer=made, status=201)
    body = {"migration_version": "string"}
    started = {"workflow_run_id": "5f1e2d3c", "message": "ok"}
    for what in ("merge", "reset"):
        route, operation = f"POST /v1/branches/{{branch_id_or_ref}}/{what}", f"v1-{what}-a-branch"
        add(document, route, operation, body=body, answer=started, status=201)
    add(
        document,
        "POST /v1/projects/{ref}/functions/deploy",
        "v1-deploy-a-function",
        query={"slug": "string", "bundleOnly": "boolean"},
        body={"metadata": "string", "file": ("string",)},
        required=["metadata"],
        media="multipart/form-data",
        answer={"slug": "send-mail", "version": 2, "status": "ACTIVE", "entrypoint_path": "index.ts"},
        status=201,
    )
    page = {"title": "Row Level Security", "href": "https://supabase.com/docs/guides/database/rls", "content": "# RLS"}
    add(
        document,
        "POST /docs/api/graphql",
        "search-docs",
        body={"query": "string", "variables": {"type": "object"}},
        required=["query"],
        answer={"data": {"searchDocs": {"nodes": [page]}}},
    )
