"""Supabase: a token of the organization that the person chooses, or a pasted personal access token.

Reference: https://supabase.com/docs/guides/integrations/build-a-supabase-oauth-integration
"""

import re
from collections.abc import Iterable
from typing import Any

from mcpist.oauth.provider import App, Consent, Provider, ProviderAccount, ProviderRequest, Tokens, printable


def _parse_account(body: Any) -> ProviderAccount | None:
    """Read the organization; where a person's own token reaches several, the first by id identifies the account."""
    organizations = sorted((printable(one["id"]), printable(one["name"])) for one in body)
    if not organizations:
        return None
    return ProviderAccount(organizations[0][0], printable(", ".join(name for _, name in organizations)), "organization")


def _revocation_requests(provider: Provider, app: App, tokens: Tokens) -> Iterable[ProviderRequest]:
    if tokens.refresh_token is not None:
        secret = app.client_secret.get_secret_value() if app.client_secret else ""
        client = {"client_id": app.client_id, "client_secret": secret}
        yield ProviderRequest(
            "POST", provider.revoke_url, json={**client, "refresh_token": tokens.refresh_token.get_secret_value()}
        )


SUPABASE = Provider(
    name="supabase",
    authorize_url="https://api.supabase.com/v1/oauth/authorize",
    token_url="https://api.supabase.com/v1/oauth/token",  # noqa: S106 - an address
    client_auth="basic",
    account_url="https://api.supabase.com/v1/organizations",
    parse_account=_parse_account,
    revoke_url="https://api.supabase.com/v1/oauth/revoke",
    revocation_requests=_revocation_requests,
    key_pattern=re.compile(r"sbp_[a-f0-9]{40}"),
    key_example="sbp_…",
    key_page="https://supabase.com/dashboard/account/tokens",
)

CONSENT = Consent(SUPABASE)
