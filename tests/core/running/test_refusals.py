"""Refusals as the services word them, each as the error that it becomes."""

import json
from typing import Any

import pytest

from mcpist.errors import RateLimitExceeded, ScopeMissing, ToolExecutionError, UnnamedScopeMissing, UpstreamUnavailable
from mcpist.running.refusals import Failure, failure


def refused(status: int, body: Any, **headers: str) -> Failure:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return failure("shop", status, named, json.dumps(body).encode())


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param(
            {"object": "error", "status": 404, "code": "object_not_found", "message": "No page.", "request_id": "1"},
            "No page. (object_not_found)",
            id="notion",
        ),
        pytest.param(
            {
                "message": "Validation Failed",
                "errors": [
                    {"resource": "Issue", "field": "title", "code": "missing_field"},
                    {"resource": "PullRequest", "code": "custom", "message": "It exists already."},
                ],
                "documentation_url": "https://docs.github.com/rest",
            },
            "Validation Failed; title: missing_field; It exists already. (custom)",
            id="github",
        ),
        pytest.param(
            {"errorMessages": ["No project."], "errors": {"summary": "必須です", "labels": ["a", "b"]}},
            "No project.; summary: 必須です; labels: a; labels: b",
            id="jira",
        ),
        pytest.param({"errorMessages": [], "errors": {"summary": "必須です"}}, "summary: 必須です", id="jira field"),
        pytest.param(
            {"errors": [{"status": 404, "code": "NOT_FOUND", "title": "Not Found", "detail": "Page 7."}]},
            "Not Found; Page 7. (NOT_FOUND)",
            id="confluence",
        ),
        pytest.param(
            {"errors": [{"status": 400, "code": "INVALID", "title": "Bad id", "detail": None}]},
            "Bad id (INVALID)",
            id="confluence without detail",
        ),
        pytest.param(
            {
                "error": {
                    "code": 404,
                    "message": "Not Found",
                    "errors": [{"domain": "global", "reason": "notFound", "message": "Not Found"}],
                }
            },
            "Not Found (notFound)",
            id="google",
        ),
        pytest.param(
            {"error": {"code": "ErrorItemNotFound", "message": "No task.", "innerError": {"request-id": "1"}}},
            "No task. (ErrorItemNotFound)",
            id="graph",
        ),
        pytest.param(
            {"code": "42703", "details": None, "hint": 'Perhaps "name".', "message": "column does not exist"},
            'column does not exist; Perhaps "name". (42703)',
            id="postgrest",
        ),
        pytest.param({"message": "Project not found"}, "Project not found", id="supabase"),
        pytest.param({"code": 401, "msg": "Invalid JWT"}, "Invalid JWT", id="supabase login"),
        pytest.param({"error": "invalid_scope", "error_description": "No."}, "No.; invalid_scope", id="oauth"),
        pytest.param({"code": 7}, '{"code": 7}', id="unknown object"),
        pytest.param(["a", {"message": "b"}], "a; b", id="list"),
        pytest.param("plain", "plain", id="text"),
        pytest.param(7, "7", id="number"),
        pytest.param({}, "no readable message", id="nothing"),
        pytest.param(None, "no readable message", id="null"),
        pytest.param({"message": {"deep": ["x"]}}, '{"message": {"deep": ["x"]}}', id="another shape"),
        pytest.param({"message": "m" * 900}, "m" * 500, id="long"),
        pytest.param({"message": "half \ud83d"}, "half ?", id="half a character"),
    ],
)
def test_an_error_has_the_services_own_words(body: Any, words: str) -> None:
    error = refused(400, body).error
    assert isinstance(error, ToolExecutionError)
    assert (error.details["http_status"], error.details["problem"]) == (400, words)


@pytest.mark.parametrize("body", [b"<html>", b"", b"\xff", b"[" * 100_000])
def test_a_refusal_that_cannot_be_read_says_so(body: bytes) -> None:
    assert failure("shop", 404, {}, body).error.details["problem"] == "no readable message"


@pytest.mark.parametrize(("opening", "closing"), [('{"error": ', "}"), ('{"errors": [', "]}"), ('{"a": [', "]}")])
def test_a_refusal_that_is_deeper_than_any_stack_is_one_too(opening: str, closing: str) -> None:
    body = opening * 900 + "{}" + closing * 900
    assert len(failure("shop", 404, {}, body.encode()).error.details["problem"]) <= 500


def test_an_outage_has_them_too() -> None:
    error = refused(500, {"message": "Database down"}).error
    assert isinstance(error, UpstreamUnavailable)
    assert error.text().message == "shop is not available: it answered 500: Database down."
    assert failure("shop", 500, {}, b"<html>").error.text().message == "shop is not available: it answered 500."
    assert isinstance(refused(408, {}).error, UpstreamUnavailable)


def google(reason: str, message: str = "No.") -> dict[str, Any]:
    return {"error": {"code": 403, "message": message, "errors": [{"domain": "usageLimits", "reason": reason}]}}


@pytest.mark.parametrize(
    ("status", "body", "headers", "seconds"),
    [
        (429, {}, {"retry_after": "7"}, 7),
        (429, {}, {"retry_after": "1.2"}, 2),
        (429, {}, {}, 30),
        (429, {}, {"retry_after": "soon"}, 30),
        (429, {}, {"retry_after": "-1"}, 30),
        (429, {}, {"retry_after": "9" * 5000}, 30),
        (403, {}, {"retry_after": "60"}, 60),
        (403, {}, {"x_ratelimit_remaining": "0"}, 30),
        (403, {"message": "You have exceeded a secondary rate limit."}, {"x_ratelimit_remaining": "99"}, 30),
        (429, {}, {"x_ratelimit_remaining": "99", "x_ratelimit_reset": "9999999999"}, 30),
        (429, {}, {"ratelimit_reset": "12"}, 12),
        (403, google("rateLimitExceeded"), {}, 30),
        (403, google("userRateLimitExceeded"), {}, 30),
        (403, google("quotaExceeded"), {}, 30),
    ],
)
def test_a_rate_limit_says_when_to_try_again(status: int, body: Any, headers: dict[str, str], seconds: int) -> None:
    failed = refused(status, body, **headers)
    assert isinstance(failed.error, RateLimitExceeded)
    assert failed.error.details["retry_after"] == seconds
    assert failed.safe_to_retry is (failed.wait is not None)


def test_a_service_that_is_used_without_permission_is_no_rate_limit() -> None:
    assert isinstance(refused(403, google("accessNotConfigured")).error, ToolExecutionError)


CHALLENGE = 'Bearer realm="https://accounts.google.com/", error="insufficient_scope", scope="calendar.events calendar"'


@pytest.mark.parametrize(
    ("status", "body", "headers", "scope"),
    [
        (403, {}, {"x_oauth_scopes": "read:user", "x_accepted_oauth_scopes": "repo"}, "repo"),
        (404, {}, {"x_oauth_scopes": "gist, read:user", "x_accepted_oauth_scopes": "repo"}, "repo"),
        (404, {}, {"x_oauth_scopes": "", "x_accepted_oauth_scopes": "user, admin:org"}, "admin:org or user"),
        (403, google("insufficientPermissions"), {"www_authenticate": CHALLENGE}, "calendar.events calendar"),
        (401, {}, {"www_authenticate": CHALLENGE}, "calendar.events calendar"),
        (403, {}, {"www_authenticate": 'Bearer error=insufficient_scope, scope="a"'}, "a"),
        (
            403,
            {"message": "Resource not accessible by integration"},
            {"x_oauth_scopes": "", "x_accepted_github_permissions": "issues=write"},
            "issues=write",
        ),
    ],
)
def test_a_missing_scope_is_named(status: int, body: Any, headers: dict[str, str], scope: str) -> None:
    error = refused(status, body, **headers).error
    assert type(error) is ScopeMissing
    assert error.details["scope"] == scope
    assert error.details["url"].endswith("/connect/shop")


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        (401, {"code": 401, "message": "Unauthorized; scope does not match"}, {}),
        (403, google("insufficientPermissions", "Insufficient Permission"), {}),
        (403, {"error": {"message": "No.", "details": [{"reason": "ACCESS_TOKEN_SCOPE_INSUFFICIENT"}]}}, {}),
        (403, {"message": "no"}, {"www_authenticate": 'Bearer error="insufficient_scope"'}),
    ],
)
def test_a_missing_scope_without_a_name_has_the_services_words(status: int, body: Any, headers: dict[str, str]) -> None:
    error = refused(status, body, **headers).error
    assert type(error) is UnnamedScopeMissing
    assert error.details["problem"]


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (404, {"x_oauth_scopes": "repo", "x_accepted_oauth_scopes": "repo"}),
        (404, {"x_oauth_scopes": "repo", "x_accepted_oauth_scopes": ""}),
        (403, {"x_oauth_scopes": "admin:org", "x_accepted_oauth_scopes": "read:org"}),
        (403, {"x_oauth_scopes": "user", "x_accepted_oauth_scopes": "read:user"}),
        (403, {"x_oauth_scopes": "repo", "x_accepted_oauth_scopes": "public_repo"}),
        (403, {"x_oauth_scopes": "repo", "x_accepted_oauth_scopes": "repo:status"}),
        (404, {"x_oauth_scopes": "", "x_accepted_oauth_scopes": "repo", "x_accepted_github_permissions": "a=read"}),
        (403, {"x_accepted_github_permissions": "issues=write"}),
        (403, {"x_accepted_oauth_scopes": "repo"}),
        (422, {"x_oauth_scopes": "gist", "x_accepted_oauth_scopes": "repo"}),
        (401, {"www_authenticate": 'Bearer error="invalid_token", scope="a"'}),
    ],
)
def test_a_refusal_for_another_reason_is_no_missing_scope(status: int, headers: dict[str, str]) -> None:
    assert isinstance(refused(status, {"message": "no"}, **headers).error, ToolExecutionError)
