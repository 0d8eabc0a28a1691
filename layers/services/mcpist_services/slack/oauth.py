"""Slack: a consent to user scopes, so that tools act as the person; tokens rotate where the app turned that on.

The code's response holds the person's tokens in `authed_user`, that of a refresh at its top. PKCE is not used, since
it would make the app a public client for ever.
Reference: https://docs.slack.dev/authentication/installing-with-oauth, https://docs.slack.dev/authentication/using-token-rotation
"""

import re
from collections.abc import Iterable
from typing import Any

from mcpist.oauth.provider import (
    INVALID_GRANT_ERRORS,
    App,
    Consent,
    Provider,
    ProviderAccount,
    ProviderRequest,
    Tokens,
    printable,
)

# https://docs.slack.dev/reference/methods/auth.revoke
_ENDED = frozenset({"account_inactive", "invalid_auth", "not_authed", "token_expired", "token_revoked"})


def _parse_account(body: Any) -> ProviderAccount | None:
    """Read the person in a workspace; None where the token has ended."""
    if not body["ok"]:
        if body["error"] in _ENDED:
            return None
        raise ValueError("no account")
    ids = f"{printable(body['team_id'])}:{printable(body['user_id'])}"
    return ProviderAccount(ids, f"{printable(body['team'])}, {printable(body['user'])}")


def _parse_tokens(body: Any) -> Any:
    """Return the person's tokens; nothing where the person granted none, but a bot's are there."""
    is_code = isinstance(body, dict) and "authed_user" in body and body.get("token_type") != "user"
    return body["authed_user"] if is_code else body


def _revocation_requests(provider: Provider, _: App, tokens: Tokens) -> Iterable[ProviderRequest]:
    token = tokens.access_token.get_secret_value()
    yield ProviderRequest("POST", provider.revoke_url, headers={"authorization": f"Bearer {token}"}, form={})


SLACK = Provider(
    name="slack",
    authorize_url="https://slack.com/oauth/v2/authorize",
    scope_parameter="user_scope",
    scope_separator=",",
    token_url="https://slack.com/api/oauth.v2.access",  # noqa: S106 - an address
    client_auth="basic",
    pkce=False,
    parse_tokens=_parse_tokens,
    # All come with status 200.
    invalid_code_errors=INVALID_GRANT_ERRORS | {"code_already_used", "invalid_code"},
    permanent_errors=INVALID_GRANT_ERRORS | {"invalid_refresh_token", "token_expired", "token_revoked"},
    app_errors=frozenset(
        {
            "bad_client_secret",
            "bad_redirect_uri",
            "invalid_client_id",
            "invalid_team_for_non_distributed_app",
            "no_user_scopes",
            "oauth_authorization_url_mismatch",
        }
    ),
    scopes_header="x-oauth-scopes",
    account_url="https://slack.com/api/auth.test",
    parse_account=_parse_account,
    revoke_url="https://slack.com/api/auth.revoke",
    revocation_requests=_revocation_requests,
    ended_token_errors=_ENDED,
    revokes_single_token=True,
    key_pattern=re.compile(r"xoxp-[A-Za-z0-9-]{20,250}"),
    key_example="xoxp-…",
    key_page="https://api.slack.com/apps",
)

CONSENT = Consent(
    SLACK,
    scopes=(
        *(f"{kind}:{right}" for kind in ("channels", "groups", "im", "mpim") for right in ("history", "read", "write")),
        "chat:write",
        "files:read",
        "files:write",
        "pins:read",
        "pins:write",
        "reactions:write",
        "reminders:read",
        "reminders:write",
        "search:read",
        "usergroups:read",
        "users.profile:write",
        "users:read",
        "users:read.email",
    ),
)
