"""Supabase: an organization's token, which the person chooses at the consent, or a pasted personal access token.

Reference: https://supabase.com/docs/guides/integrations/build-a-supabase-oauth-integration
"""

import re
from collections.abc import Iterable
from typing import Any

from token_broker.grants.grant import Tokens
from token_broker.providers.apps import App
from token_broker.providers.provider import Linked, Provider, named
from token_broker.providers.wire import Asked


def _account(body: Any) -> Linked | None:
    """The organization; where a person's own token reaches several, the first by its id stands for all."""
    organizations = sorted((named(one["id"]), named(one["name"])) for one in body)
    if not organizations:
        return None
    return Linked(organizations[0][0], named(", ".join(name for _, name in organizations)), "organization")


def _revoking(provider: Provider, app: App, tokens: Tokens) -> Iterable[Asked]:
    if tokens.refresh_token is not None:
        secret = app.client_secret.get_secret_value() if app.client_secret else ""
        told = {"client_id": app.client_id, "client_secret": secret}
        yield Asked(
            "POST", provider.revoke_url, json={**told, "refresh_token": tokens.refresh_token.get_secret_value()}
        )


PROVIDER = Provider(
    name="supabase",
    asks={"supabase": ()},
    authorize_url="https://api.supabase.com/v1/oauth/authorize",
    token_url="https://api.supabase.com/v1/oauth/token",  # noqa: S106 - an address
    client_auth="basic",
    account_url="https://api.supabase.com/v1/organizations",
    knows=_account,
    revoke_url="https://api.supabase.com/v1/oauth/revoke",
    revoking=_revoking,
    keys=re.compile(r"sbp_[a-f0-9]{40}"),
)
