"""Slack's refusals: an HTTP 200 with `{"ok": false, "error": code}`; a limit is one of a single method.

https://docs.slack.dev/apis/web-api/rate-limits (the tiers) and the table of errors on each method's page
"""

from typing import Any

from mcpist.toml_table import toml_beside
from mcpist.tools.declare.call import ServiceResponse
from mcpist.tools.declare.dialect import MissingScope, RateLimited, Refusal, Refusals, TokenRefused, Unavailable

_TOKEN_ERRORS = {
    "account_inactive",
    "invalid_auth",
    "not_allowed_token_type",
    "not_authed",
    "token_expired",
    "token_revoked",
}
_LIMITS = {"message_limit_exceeded", "rate_limited", "ratelimited"}
_OUTAGES = {"fatal_error", "internal_error", "request_timeout", "service_unavailable", "team_added_to_org"}


def _read_refusal(response: ServiceResponse) -> Refusal | None:
    body = response.json if isinstance(response.json, dict) else {}
    code = str(body.get("error", ""))
    if code in _LIMITS or response.status == 429:
        return RateLimited(path_only=True)
    if body.get("ok") is not False:
        return None
    if code in _TOKEN_ERRORS:
        return TokenRefused(problem=code)
    if code == "missing_scope":
        return MissingScope(scope=str(body.get("needed", "")), problem="the account did not grant it")
    if code in _OUTAGES:
        return Unavailable(problem=code)
    return Refusal(problem="; ".join([_explained(code), *_details(body)]))


def _explained(code: str) -> str:
    hint = toml_beside(__file__, "refusals.toml").get(code)
    return f"{code}: {hint}" if hint else code or "it gave no reason"


def _details(body: dict[str, Any]) -> list[str]:
    """Return Slack's messages about single arguments."""
    about = body.get("response_metadata")
    messages = about.get("messages", []) if isinstance(about, dict) else []
    return [str(message) for message in messages] if isinstance(messages, list) else []


REFUSALS = Refusals(_read_refusal)
