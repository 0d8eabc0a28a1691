"""GitHub: user tokens of a GitHub App (8 hours, with refresh) or of an OAuth App (no end), and pasted tokens.

A GitHub App's permissions stand on the app, which ignores the scopes; an OAuth App has them.
Reference: https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app
"""

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from token_broker.grants.grant import Tokens
from token_broker.providers.apps import App
from token_broker.providers.provider import Kind, Linked, Provider, basic, named
from token_broker.providers.wire import Asked

KINDS: dict[str, Kind] = {"Bot": "bot", "Organization": "organization"}


def _account(body: Any) -> Linked | None:
    return Linked(named(body["id"]), named(body["login"]), KINDS.get(body.get("type", ""), "person"))


def _revoking(provider: Provider, app: App, tokens: Tokens) -> Iterable[Asked]:
    """This token alone: revoking the grant would end every connection of the same person."""
    yield Asked(
        "DELETE",
        provider.revoke_url.format(client_id=quote(app.client_id, safe="")),
        headers=basic(app.client_id, app.client_secret),
        json={"access_token": tokens.access_token.get_secret_value()},
    )


PROVIDER = Provider(
    name="github",
    asks={"github": ("repo", "read:user")},
    authorize_url="https://github.com/login/oauth/authorize",
    token_url="https://github.com/login/oauth/access_token",  # noqa: S106 - an address
    headers={"x-github-api-version": "2022-11-28"},
    dead=frozenset({"bad_refresh_token"}),  # with status 200
    account_url="https://api.github.com/user",
    knows=_account,
    revoke_url="https://api.github.com/applications/{client_id}/token",
    revoking=_revoking,
    revokes_one=True,
    keys=re.compile(r"github_pat_[A-Za-z0-9_]{20,255}"),
)
