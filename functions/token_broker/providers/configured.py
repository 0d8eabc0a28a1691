"""Any OAuth 2.1 server, as an administrator describes it: with PKCE, and with RFC 7009, 9207 and OpenID's userinfo."""

from collections.abc import Iterable
from typing import Any

from token_broker.grants.grant import Tokens
from token_broker.providers.apps import App, Server
from token_broker.providers.provider import Linked, Provider, named
from token_broker.providers.wire import Asked


def provider(name: str, server: Server) -> Provider:
    """The provider of the one service of this name."""
    resource = {"resource": server.resource} if server.resource else {}
    return Provider(
        name=name,
        asks={name: server.scopes},
        authorize_url=server.authorize_url,
        params=resource,
        token_url=server.token_url,
        token_params=resource,
        client_auth=server.client_auth if server.client_secret else "none",
        issuer=server.issuer,
        account_url=server.userinfo_url,
        knows=_account,
        revoke_url=server.revoke_url,
        revoking=_revoking if server.revoke_url else None,
    )


def _account(body: Any) -> Linked | None:
    names = (named(body.get(claim)) for claim in ("name", "preferred_username", "email", "sub"))
    return Linked(named(body["sub"]), next(filter(None, names)))


def _revoking(provider: Provider, app: App, tokens: Tokens) -> Iterable[Asked]:
    """The refresh token first: many servers end the access token with it."""
    headers, fields = provider.credentials(app)
    for hint, token in (("refresh_token", tokens.refresh_token), ("access_token", tokens.access_token)):
        if token is not None:
            form = {"token": token.get_secret_value(), "token_type_hint": hint, **fields}
            yield Asked("POST", provider.revoke_url, headers=headers, form=form)
