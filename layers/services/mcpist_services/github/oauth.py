"""GitHub: user tokens of a GitHub App (8 hours, with refresh) or of an OAuth App (no end), and pasted tokens.

A GitHub App's permissions belong to the app, which ignores scopes; an OAuth App uses them.
Reference: https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app
"""

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from mcpist.oauth.provider import (
    INVALID_GRANT_ERRORS,
    AccountKind,
    App,
    Consent,
    Provider,
    ProviderAccount,
    ProviderRequest,
    Tokens,
    basic_auth_header,
    printable,
)

ACCOUNT_KINDS: dict[str, AccountKind] = {"Bot": "bot", "Organization": "organization"}


def _parse_account(body: Any) -> ProviderAccount | None:
    kind = ACCOUNT_KINDS.get(body.get("type", ""), "person")
    return ProviderAccount(printable(body["id"]), printable(body["login"]), kind)


def _revocation_requests(provider: Provider, app: App, tokens: Tokens) -> Iterable[ProviderRequest]:
    """Revoke this token alone: revoking the grant would end every connection of the same person."""
    yield ProviderRequest(
        "DELETE",
        provider.revoke_url.format(client_id=quote(app.client_id, safe="")),
        headers=basic_auth_header(app.client_id, app.client_secret),
        json={"access_token": tokens.access_token.get_secret_value()},
    )


GITHUB = Provider(
    name="github",
    authorize_url="https://github.com/login/oauth/authorize",
    token_url="https://github.com/login/oauth/access_token",  # noqa: S106 - an address
    headers={"x-github-api-version": "2022-11-28"},
    # The first three come with status 200.
    invalid_code_errors=INVALID_GRANT_ERRORS | {"bad_verification_code"},
    permanent_errors=frozenset({"bad_refresh_token"}),
    app_errors=frozenset({"incorrect_client_credentials", "application_suspended"}),
    scopes_header="x-oauth-scopes",
    account_url="https://api.github.com/user",
    parse_account=_parse_account,
    revoke_url="https://api.github.com/applications/{client_id}/token",
    revocation_requests=_revocation_requests,
    revokes_single_token=True,
    key_pattern=re.compile(r"github_pat_[A-Za-z0-9_]{20,255}"),
    key_example="github_pat_…",
    key_page="https://github.com/settings/personal-access-tokens",
)

CONSENT = Consent(GITHUB, scopes=("repo", "read:user", "read:org", "project"))
