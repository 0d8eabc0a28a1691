"""Providers: those that services declare, and OAuth servers that an administrator describes in a parameter."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import mcpist_services
from mcpist.caller import Caller
from mcpist.errors import AlreadyExists, NotConfigured
from mcpist.oauth.provider import App, OAuthServerApp, Provider, ProviderAccount, ProviderRequest, Tokens, printable
from token_broker.providers import module_apps
from token_broker.providers.apps import get_app, is_set_up


def find(name: str, caller: Caller | None = None) -> Provider:
    """Return a provider by its name.

    It is declared by services, described by its SSM parameter, or serves a module that the caller's organization
    registered. Raises NotConfigured where there is none; for one of our services it names the missing file.
    AlreadyExists where it would be two: neither are the operator's tokens the module's, nor its keys the operator's.
    """
    return _find(name, caller)[0]


def find_with_app(name: str, caller: Caller) -> tuple[Provider, App]:
    """Return a provider and our client there: of a registered module the organization's own, which no other uses."""
    provider, app = _find(name, caller)
    return provider, app or get_app(name)


def _find(name: str, caller: Caller | None) -> tuple[Provider, App | None]:
    declared = mcpist_services.providers().get(name)
    if declared:
        return declared, None
    require_dialect(name)
    if caller and (module := module_apps.registered(caller, name)):
        if is_set_up(name, fresh=False):
            raise AlreadyExists(kind="provider of this deployment", name=name)
        own = module_apps.find(caller.organization, module)
        if own is None:
            return key_provider(name), None
        # Nothing says whose a token is: so each is revoked by itself, as RFC 7009 has it.
        return replace(configured_provider(name, own), revokes_single_token=True), own
    app = get_app(name)
    assert isinstance(app, OAuthServerApp)
    return configured_provider(name, app), app


def require_dialect(service: str) -> None:
    """Raise NotConfigured for one of our services whose folder declares no dialect."""
    if service in mcpist_services.NAMES and mcpist_services.consent(service) is None:
        place = f"layers/services/mcpist_services/{service}/oauth.py"
        raise NotConfigured(service=service, problem=f"no OAuth dialect for `{service}`: add {place}")


def configured_provider(name: str, server: OAuthServerApp) -> Provider:
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


def key_provider(name: str) -> Provider:
    """Return the provider of a registered module without an app: people paste keys.

    Such a module's address is its administrator's choice, and no client of the operator's may be used there.
    """
    from mcpist_services.described.account_rule import AccountRule, Security
    from mcpist_services.described.compiled import consent_of

    declared = consent_of(AccountRule(name=name, title=name, security=Security(kind="bearer")))
    assert declared is not None
    return replace(declared.provider, scopes_by_service={name: ()})
