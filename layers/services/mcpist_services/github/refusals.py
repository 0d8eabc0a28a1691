"""GitHub's refusals: secondary limits, limits of one resource, and scopes that only headers name.

https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api
"""

from collections.abc import Mapping

from mcpist.running.refusals import error_message, is_rate_limit
from mcpist.tools.declare.call import ServiceResponse
from mcpist.tools.declare.dialect import MissingScope, RateLimited, Refusal, Refusals

_HIGHER_LEVELS = {"read": ("write:", "admin:", ""), "write": ("admin:",)}
_PARENT_SCOPES = {"public_repo": "repo", "repo_deployment": "repo"}


def _read_refusal(response: ServiceResponse) -> Refusal | None:
    status, headers, message = response.status, response.headers, error_message(response.json)
    if is_rate_limit(status, headers) or (status == 403 and "secondary rate limit" in message):
        return RateLimited(path_only=headers.get("x-ratelimit-resource", "core") != "core")
    if status not in {403, 404}:
        return None
    scope = _missing_scope(headers)
    if scope is None and "not accessible by integration" in message:
        scope = headers.get("x-accepted-github-permissions")
    return None if scope is None else MissingScope(scope=scope)


def _missing_scope(headers: Mapping[str, str]) -> str | None:
    """Return the scopes any of which an OAuth token needs, if it has none of them; an App has permissions instead.

    https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/scopes-for-oauth-apps
    """
    held, accepted = _scopes(headers.get("x-oauth-scopes", "")), _scopes(headers.get("x-accepted-oauth-scopes", ""))
    is_app = not held and "x-accepted-github-permissions" in headers
    if "x-oauth-scopes" not in headers or is_app or any(_covers(held, scope) for scope in accepted):
        return None
    return " or ".join(sorted(accepted)) or None


def _scopes(text: str) -> set[str]:
    return {scope.strip() for scope in text.split(",")} - {""}


def _covers(held: set[str], scope: str) -> bool:
    """Whether a scope is held, or one that includes it: `repo` has `repo:status`, `admin:org` has `read:org`."""
    level, _, thing = scope.rpartition(":")
    wider = {level or _PARENT_SCOPES.get(thing, ""), *(f"{rank}{thing}" for rank in _HIGHER_LEVELS.get(level, ()))}
    return not held.isdisjoint({scope, *wider})


REFUSALS = Refusals(_read_refusal)
