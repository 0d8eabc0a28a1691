"""The providers: whose tokens the broker keeps, one file for each dialect of OAuth."""

from importlib import import_module

from token_broker.grants.grant import PROVIDER_BY_SERVICE, provider_name
from token_broker.providers.apps import OAuthServerApp, get_app
from token_broker.providers.provider import AccountKind, Provider, ProviderAccount, Scopes

__all__ = ["BUILT_IN", "AccountKind", "Provider", "ProviderAccount", "Scopes", "find", "provider_name", "provider_of"]

BUILT_IN = ("notion", "github", "supabase", *dict.fromkeys(PROVIDER_BY_SERVICE.values()))


def find(name: str) -> Provider:
    """A provider by its name: built in, or as its SSM parameter describes it; NotConfigured where there is none."""
    if name in BUILT_IN:
        found: Provider = import_module(f"{__name__}.{name}").PROVIDER
        return found
    from token_broker.providers.configured import provider

    app = get_app(name)
    assert isinstance(app, OAuthServerApp)
    return provider(name, app)


def provider_of(service: str) -> Provider:
    """Who issues the tokens of a service."""
    return find(provider_name(service))
