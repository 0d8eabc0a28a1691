"""Refusals by the HTTP standards, each as the error that it becomes; a service's own are tested in its folder."""

from typing import Any

import pytest

from mcpist.bounded_http.client import parse_json
from mcpist.errors import RateLimitExceeded, ScopeMissing, ToolExecutionError, UnnamedScopeMissing, UpstreamUnavailable
from mcpist.running.refusals import read_refusal
from mcpist.tools.declare.call import ServiceResponse
from mcpist.tools.declare.dialect import Refusals, TokenRefused
from tests.core.refused import refused


@pytest.mark.parametrize(
    ("content", "message"),
    [
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
            id="a list of problems",
        ),
        pytest.param({"errors": {"summary": "必須です"}}, "summary: 必須です", id="a problem for each field"),
        pytest.param(
            {"error": {"code": "ErrorItemNotFound", "message": "No task.", "innerError": {"request-id": "1"}}},
            "No task. (ErrorItemNotFound)",
            id="an error object",
        ),
        pytest.param(
            {"type": "about:blank", "title": "Not Found", "status": 404, "detail": "Page 7."},
            "Not Found; Page 7.",
            id="problem+json",
        ),
        pytest.param({"message": "Project not found"}, "Project not found", id="message"),
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
def test_an_error_has_the_services_message(content: Any, message: str) -> None:
    error = refused(400, content).error
    assert isinstance(error, ToolExecutionError)
    assert (error.details["http_status"], error.details["problem"]) == (400, message)


@pytest.mark.parametrize("separator", ["\n", "\r\n", "\u2028", "\x85"])
def test_a_services_message_is_one_line(separator: str) -> None:
    error = refused(422, {"message": f"no{separator}s2: succeeded"}).error
    assert error.details["problem"] == "no s2: succeeded"


@pytest.mark.parametrize("body", [b"<html>", b"", b"\xff", b"[" * 100_000])
def test_a_refusal_that_cannot_be_read_says_so(body: bytes) -> None:
    assert refused(404, parse_json(body)).error.details["problem"] == "no readable message"


@pytest.mark.parametrize(("opening", "closing"), [('{"error": ', "}"), ('{"errors": [', "]}"), ('{"a": [', "]}")])
def test_a_refusal_that_is_deeper_than_any_stack_is_one_too(opening: str, closing: str) -> None:
    body = opening * 900 + "{}" + closing * 900
    assert len(refused(404, parse_json(body.encode())).error.details["problem"]) <= 500


def test_an_outage_has_them_too() -> None:
    error = refused(500, {"message": "Database down"}).error
    assert isinstance(error, UpstreamUnavailable)
    assert error.text().message == "shop is not available: it answered 500: Database down."
    assert refused(500, None).error.text().message == "shop is not available: it answered 500."
    assert isinstance(refused(408, {}).error, UpstreamUnavailable)


@pytest.mark.parametrize(
    ("status", "headers", "seconds"),
    [
        (429, {"retry_after": "7"}, 7),
        (429, {"retry_after": "1.2"}, 2),
        (429, {}, 30),
        (429, {"retry_after": "soon"}, 30),
        (429, {"retry_after": "-1"}, 30),
        (429, {"retry_after": "9" * 5000}, 30),
        (403, {"retry_after": "60"}, 60),
        (403, {"x_ratelimit_remaining": "0"}, 30),
        (429, {"x_ratelimit_remaining": "99", "x_ratelimit_reset": "9999999999"}, 30),
        (429, {"ratelimit_reset": "12"}, 12),
    ],
)
def test_a_rate_limit_says_when_to_try_again(status: int, headers: dict[str, str], seconds: int) -> None:
    failed = refused(status, {}, **headers)
    assert isinstance(failed.error, RateLimitExceeded)
    assert failed.error.details["retry_after"] == seconds
    assert failed.safe_to_retry is (failed.wait is not None)


@pytest.mark.parametrize("status", [401, 403, 404])
@pytest.mark.parametrize(
    ("challenge", "scope"),
    [
        ('Bearer realm="x", error="insufficient_scope", scope="calendar.events calendar"', "calendar.events calendar"),
        ('Bearer error=insufficient_scope, scope="a"', "a"),
    ],
)
def test_a_missing_scope_is_named(status: int, challenge: str, scope: str) -> None:
    error = refused(status, {}, www_authenticate=challenge).error
    assert type(error) is ScopeMissing
    assert error.details["scope"] == scope
    assert error.details["url"].endswith("/connect/shop")


def test_a_missing_scope_without_a_name_has_the_services_message() -> None:
    error = refused(403, {"message": "no"}, www_authenticate='Bearer error="insufficient_scope"').error
    assert type(error) is UnnamedScopeMissing
    assert error.details["problem"] == "no"


def test_a_refused_token_is_no_missing_scope() -> None:
    response = ServiceResponse(401, {"www-authenticate": 'Bearer error="invalid_token", scope="a"'}, {"message": "no"})
    assert read_refusal(response) == TokenRefused()


@pytest.mark.parametrize("content", [{"ok": False}, {"error": "ratelimited"}, None])
def test_a_success_is_no_refusal_unless_the_service_reads_one(content: Any) -> None:
    response = ServiceResponse(200, {}, content)
    assert read_refusal(response) is None
    assert read_refusal(response, Refusals(lambda _: TokenRefused())) == TokenRefused()
