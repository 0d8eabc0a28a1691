"""GitHub's refusals, each as the error that it becomes."""

from typing import Any

import pytest

from mcpist.errors import RateLimitExceeded, ScopeMissing, ToolExecutionError
from mcpist.tools.declare.call import ServiceResponse
from mcpist.tools.declare.dialect import MissingScope, RateLimited, Refusal
from mcpist_services.github.module import github
from tests.core.refused import refused


@pytest.mark.parametrize(
    ("content", "headers"),
    [
        ({"message": "You have exceeded a secondary rate limit."}, {"x_ratelimit_remaining": "99"}),
        ({"message": "API rate limit exceeded"}, {"x_ratelimit_remaining": "0"}),
    ],
)
def test_a_403_may_be_a_rate_limit(content: Any, headers: dict[str, str]) -> None:
    error = refused(403, content, github.refusals, **headers).error
    assert isinstance(error, RateLimitExceeded)
    assert error.details["retry_after"] == 30


@pytest.mark.parametrize(("resource", "path_only"), [("core", False), ("search", True), ("graphql", True)])
@pytest.mark.parametrize("status", [403, 429])
def test_a_limit_of_one_resource_affects_only_its_path(status: int, resource: str, path_only: bool) -> None:
    assert refused(status, {}, github.refusals, x_ratelimit_resource=resource, retry_after="60").path_only is path_only
    assert not refused(status, {}, github.refusals, retry_after="60").path_only


@pytest.mark.parametrize(
    ("status", "message", "headers", "scope"),
    [
        (403, "", {"x_oauth_scopes": "read:user", "x_accepted_oauth_scopes": "repo"}, "repo"),
        (404, "", {"x_oauth_scopes": "gist, read:user", "x_accepted_oauth_scopes": "repo"}, "repo"),
        (404, "", {"x_oauth_scopes": "", "x_accepted_oauth_scopes": "user, admin:org"}, "admin:org or user"),
        (
            403,
            "Resource not accessible by integration",
            {"x_oauth_scopes": "", "x_accepted_github_permissions": "issues=write"},
            "issues=write",
        ),
    ],
)
def test_a_missing_scope_is_named(status: int, message: str, headers: dict[str, str], scope: str) -> None:
    error = refused(status, {"message": message}, github.refusals, **headers).error
    assert type(error) is ScopeMissing
    assert error.details["scope"] == scope


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
    ],
)
def test_a_refusal_for_another_reason_is_not_a_missing_scope(status: int, headers: dict[str, str]) -> None:
    assert isinstance(refused(status, {"message": "no"}, github.refusals, **headers).error, ToolExecutionError)


@pytest.mark.parametrize(
    ("error", "refusal"),
    [
        ({"type": "NOT_FOUND", "message": "no such repository"}, Refusal(problem="no such repository")),
        ({"type": "RATE_LIMITED", "message": "slow down"}, RateLimited(path_only=True)),
        ({"type": "INSUFFICIENT_SCOPES", "message": "needs public_repo"}, MissingScope(problem="needs public_repo")),
    ],
)
def test_an_error_of_the_graphql_api_is_one_although_its_status_is_200(error: Any, refusal: Refusal) -> None:
    answer = ServiceResponse(200, {}, {"data": {"repository": None}, "errors": [error]})
    assert github.refusals.read(answer) == refusal
    assert github.refusals.read(ServiceResponse(200, {}, {"data": {"repository": {}}})) is None
