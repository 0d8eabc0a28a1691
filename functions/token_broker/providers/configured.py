"""Any OAuth 2.1 server that an administrator describes: with PKCE, RFC 7009, RFC 9207 and OpenID's userinfo."""

from collections.abc import Iterable
from typing import Any

from mcpist.oauth.provider import App, OAuthServerApp, Provider, ProviderAccount, ProviderRequest, Tokens, printable


def provider(name: str, server: OAuthServerApp) -> Provider:
    """Return the provider of the one service of this name."""
    resource = {"resource": server.resource} if server.resource else {}
    return Provider(
        name=name,
        scopes_by_service={name: server.scopes},
        authorize_url=server.authorize_url,
        authorize_params=resource,
        token_url=server.token_url,
        token_params=resource,
        client_auth=server.client_auth if server.client_secret else "none",
        issuer=server.issuer,
        account_url=server.userinfo_url,
        parse_account=_parse_account,
        revoke_url=server.revoke_url,
        revocation_requests=_revocation_requests if server.revoke_url else None,
    )


def _parse_account(body: Any) -> ProviderAccount | None:
    names = (printable(body.get(claim)) for claim in ("name", "preferred_username", "email", "sub"))
    return ProviderAccount(printable(body["sub"]), next(filter(None, names)))


def _revocation_requests(provider: Provider, app: App, tokens: Tokens) -> Iterable[ProviderRequest]:
    """Revoke the refresh token first: many servers end the access token with it."""
    headers, fields = provider.credentials(app)
    for hint, token in (("refresh_token", tokens.refresh_token), ("access_token", tokens.access_token)):
        if token is not None:
            form = {"token": token.get_secret_value(), "token_type_hint": hint, **fields}
            yield ProviderRequest("POST", provider.revoke_url, headers=headers, form=form)
