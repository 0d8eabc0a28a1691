"""Missing scopes: which permission an account lacks, by what was granted or where its service says so."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from mcpist.running.error_messages import MAX_MESSAGE_CHARACTERS, error_message, google_reasons

_GOOGLE_SCOPES = {"ACCESS_TOKEN_SCOPE_INSUFFICIENT", "insufficientPermissions"}
_INSUFFICIENT_SCOPE = re.compile(r'\berror="?insufficient_scope\b')
_SCOPE = re.compile(r'\bscope="([^"]*)"')
_HIGHER_LEVELS = {"read": ("write:", "admin:", ""), "write": ("admin:",)}
_PARENT_SCOPES = {"public_repo": "repo", "repo_deployment": "repo"}


def first_missing_scope(
    needed: Iterable[str], granted: Collection[str], implied_by: Mapping[str, Iterable[str]]
) -> str | None:
    """The first scope that a tool needs and an account has not been granted; where none are known, none is missing."""
    if not granted:
        return None
    return next((one for one in needed if {one, *implied_by.get(one, ())}.isdisjoint(granted)), None)


def missing_scope(status: int, headers: Mapping[str, str], found: Any) -> str | None:
    """The permission that is missing: empty where the service does not name it, None where it is not about that."""
    if status not in {401, 403, 404}:
        return None
    challenge = headers.get("www-authenticate", "")
    if _INSUFFICIENT_SCOPE.search(challenge):
        named = _SCOPE.search(challenge)
        return named[1][:MAX_MESSAGE_CHARACTERS] if named else ""
    if google_reasons(found) & _GOOGLE_SCOPES or "scope does not match" in error_message(
        found
    ):  # the latter is Atlassian's
        return ""
    return None if status == 401 else _github(headers) or _github_app(headers, found)


def _github(headers: Mapping[str, str]) -> str | None:
    """The scopes any of which GitHub wants of an OAuth token that has none of them.

    https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/scopes-for-oauth-apps
    """
    held, accepted = _listed(headers.get("x-oauth-scopes", "")), _listed(headers.get("x-accepted-oauth-scopes", ""))
    is_app = not held and "x-accepted-github-permissions" in headers
    if "x-oauth-scopes" not in headers or is_app or any(_covers(held, scope) for scope in accepted):
        return None
    return " or ".join(sorted(accepted)) or None


def _github_app(headers: Mapping[str, str], found: Any) -> str | None:
    """The permissions that GitHub wants of an App; it names them in every answer.

    https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api
    """
    refused = "not accessible by integration" in error_message(found)
    return headers.get("x-accepted-github-permissions") if refused else None


def _listed(text: str) -> set[str]:
    return {scope.strip() for scope in text.split(",")} - {""}


def _covers(held: set[str], scope: str) -> bool:
    """Whether a scope is held, or one that includes it: `repo` has `repo:status`, `admin:org` has `read:org`."""
    level, _, thing = scope.rpartition(":")
    wider = {level or _PARENT_SCOPES.get(thing, ""), *(f"{rank}{thing}" for rank in _HIGHER_LEVELS.get(level, ()))}
    return not held.isdisjoint({scope, *wider})
