"""Google's refusals, each as the error that it becomes."""

from typing import Any

import pytest

from mcpist.errors import RateLimitExceeded, ScopeMissing, ToolExecutionError, UnnamedScopeMissing
from mcpist_services.google_calendar.module import google_calendar
from tests.core.refused import refused

CHALLENGE = 'Bearer realm="https://accounts.google.com/", error="insufficient_scope", scope="calendar.events calendar"'


def reason(name: str, message: str = "No.") -> dict[str, Any]:
    return {"error": {"code": 403, "message": message, "errors": [{"domain": "usageLimits", "reason": name}]}}


@pytest.mark.parametrize("name", ["rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded", "dailyLimitExceeded"])
def test_a_rate_limit_is_recognized_by_its_reason(name: str) -> None:
    error = refused(403, reason(name), google_calendar.refusals).error
    assert isinstance(error, RateLimitExceeded)
    assert error.details["retry_after"] == 30


@pytest.mark.parametrize(
    "content",
    [
        reason("insufficientPermissions", "Insufficient Permission"),
        {"error": {"message": "No.", "details": [{"reason": "ACCESS_TOKEN_SCOPE_INSUFFICIENT"}]}},
    ],
)
def test_a_missing_scope_is_named_where_the_challenge_names_it(content: Any) -> None:
    named = refused(403, content, google_calendar.refusals, www_authenticate=CHALLENGE).error
    assert type(named) is ScopeMissing
    assert named.details["scope"] == "calendar.events calendar"
    unnamed = refused(403, content, google_calendar.refusals).error
    assert type(unnamed) is UnnamedScopeMissing
    assert unnamed.details["problem"]


def test_a_disabled_service_is_not_a_rate_limit() -> None:
    assert isinstance(refused(403, reason("accessNotConfigured"), google_calendar.refusals).error, ToolExecutionError)


@pytest.mark.parametrize("content", [None, [], "no", {"error": "no"}, {"error": {"errors": ["no"], "details": None}}])
def test_a_refusal_without_reasons_is_an_error(content: Any) -> None:
    assert isinstance(refused(403, content, google_calendar.refusals).error, ToolExecutionError)


def test_an_error_has_its_message_and_its_reason() -> None:
    errors = [{"domain": "global", "reason": "notFound", "message": "Not Found"}]
    content = {"error": {"code": 404, "message": "Not Found", "errors": errors}}
    assert refused(404, content, google_calendar.refusals).error.details["problem"] == "Not Found (notFound)"
