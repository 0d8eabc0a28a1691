"""The providers: whose tokens the broker keeps, one file for each dialect of OAuth."""

from importlib import import_module

from token_broker.grants.grant import PROVIDERS, provider_name
from token_broker.providers.apps import Server, app_of
from token_broker.providers.provider import Kind, Linked, Provider, Scopes

__all__ = ["BUILT_IN", "Kind", "Linked", "Provider", "Scopes", "find", "provider_name", "provider_of"]

BUILT_IN = ("notion", "github", "supabase", *dict.fromkeys(PROVIDERS.values()))


def find(name: str) -> Provider:
    """A provider by its name: built in, or as its SSM parameter describes it; NotConfigured where there is none."""
    if name in BUILT_IN:
        found: Provider = import_module(f"{__name__}.{name}").PROVIDER
        return found
    from token_broker.providers.configured import provider

    app = app_of(name)
    assert isinstance(app, Server)
    return provider(name, app)


def provider_of(service: str) -> Provider:
    """Who issues the tokens of a service."""
    return find(provider_name(service))
