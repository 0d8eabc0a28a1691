"""The door of the REST API: its routes, who is let in, and its errors."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpist.errors import RequestTimeout
from mcpist.http.request import HttpRequest
from rest_api import page, routes
from tests.faults import for_each
from tests.rest_api.rest_client import EVENTS, RestClient, handle

ROOT = Path(__file__).parents[2]
ROUTES = [(method.upper(), path) for method, path, _ in page.operations(page.document())]


def test_the_old_address_of_calls_leads_to_the_new_one(rest: RestClient) -> None:
    called = rest.of(None).post("/tools/call", {"name": "x"})
    assert (called.status, called.headers["location"]) == (307, "https://mcp.example.com/v1/tools/call")
    assert called.headers["strict-transport-security"] == "max-age=31536000"


@for_each("method, path", sorted(ROUTES))
def test_no_route_is_open_without_a_token(rest: RestClient, method: str, path: str) -> None:
    answer = rest.of(None).send(method, path.replace("{", "").replace("}", ""))
    assert (answer.status, answer.json["code"]) == (401, "AUTHENTICATION_ERROR")
    assert "resource_metadata=" in answer.headers["www-authenticate"]
    assert answer.headers["x-mcpist-www-authenticate"] == answer.headers["www-authenticate"]


def test_a_stranger_is_refused(rest: RestClient) -> None:
    assert rest.of("stranger").get("/v1/tools").status == 403


def test_an_organization_and_a_role_are_named_by_headers(rest: RestClient) -> None:
    assert rest.with_headers(x_mcpist_organization="acme", x_mcpist_role="members").get("/v1/tools").status == 200
    assert rest.with_headers(x_mcpist_organization="other").get("/v1/tools").status == 403
    assert rest.with_headers(x_mcpist_role="other").get("/v1/tools").status == 403


def test_unknown_routes_methods_and_media_types_are_errors_like_others(rest: RestClient) -> None:
    unknown = rest.get("/v1/nothing")
    assert (unknown.status, unknown.json["code"]) == (404, "NOT_FOUND")
    wrong = rest.send("PUT", "/v1/tools/call", {})
    assert (wrong.status, wrong.json["code"]) == (405, "METHOD_NOT_ALLOWED")
    assert "POST" in wrong.headers["allow"]
    text = rest.with_headers(content_type="text/plain").post("/v1/tools/call", "name=x")
    assert (text.status, text.json["code"]) == (415, "UNSUPPORTED_MEDIA_TYPE")
    large = rest.call("rag-list-tags", parameters={"x": "x" * 1_000_001})
    assert (large.status, large.json["code"]) == (413, "PAYLOAD_TOO_LARGE")
    for answer in (unknown, wrong, text, large):
        assert {"success", "error", "code", "hint", "request_id"} <= set(answer.json)
        assert answer.json["success"] is False


def test_a_binary_body_is_refused(rest: RestClient) -> None:
    for body in ("////", "x"):
        answer = handle(rest.event("POST", "/v1/tools/call", body) | {"isBase64Encoded": True})
        assert (answer.status, answer.json["details"]["field"]) == (400, "body")


def test_errors_are_in_the_language_that_the_request_asks_for(rest: RestClient) -> None:
    assert "見つかりません" in rest.with_headers(accept_language="ja").get("/v1/tools/nope").json["error"]


def test_a_defect_is_answered_without_its_message(rest: RestClient) -> None:
    event = rest.event("GET", "/v1/tools")
    del event["requestContext"]["http"]
    answer = handle(event)
    assert (answer.status, answer.json["code"]) == (500, "INTERNAL_ERROR")
    assert "http" not in answer.json["error"]
    assert "'http'" not in answer.text


@for_each(
    "method, body, query, may_have_happened",
    {
        "a change": ("PATCH", {"deny": ["rag.*"]}, {}, True),
        "a dry run": ("PATCH", {"deny": ["rag.*"]}, {"dryRun": "true"}, False),
        "a dry run that its body names": ("POST", {"commands": [], "dryRun": True}, {}, False),
        "a change that names no dry run": ("POST", {"commands": [], "dryRun": False}, {}, True),
        "a body that is no JSON": ("POST", "{", {}, True),
        "a read": ("GET", None, {}, False),
    },
)
def test_a_timeout_may_have_happened_only_where_something_could(
    rest: RestClient, method: str, body: Any, query: dict[str, str], may_have_happened: bool
) -> None:
    request = HttpRequest(rest.event(method, "/v1/roles/members", body, **query))
    error = RequestTimeout(service="mcpist", seconds=27.0, may_have_happened=True)
    details = json.loads(routes.refuse(request, error, "request-1")["body"])["details"]
    assert ("may_have_happened" in details, "retryable" in details) == (may_have_happened, not may_have_happened)


@pytest.mark.parametrize("event", sorted(file.stem for file in EVENTS.glob("rest_api_*.json")))
def test_the_door_answers_every_event_file(rest: RestClient, event: str) -> None:
    content: dict[str, Any] = json.loads((EVENTS / f"{event}.json").read_text("utf-8"))
    if "authorization" in content["headers"]:
        content["headers"]["authorization"] = f"Bearer {rest.login.mint('uma')}"
    assert handle(content).status < 400


def test_only_this_door_waits_for_the_import_of_the_resolver() -> None:
    resolver = "aws_lambda_powertools.event_handler"
    code = f"import mcp_endpoint.handler, step_runner.handler, sys; print({resolver!r} in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "functions")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
