"""Providers: those that services declare, and OAuth servers that an administrator describes in a parameter."""

import mcpist_services
from mcpist.caller import Caller
from mcpist.errors import NotConfigured
from mcpist.oauth.provider import OAuthServerApp, Provider
from token_broker.providers.apps import get_app


def find(name: str, caller: Caller | None = None) -> Provider:
    """Return a provider by its name.

    It is declared by services, serves a module that the caller's organization registered, or is described by its SSM
    parameter. Raises NotConfigured where there is none; for one of our services it names the missing file.
    """
    declared = mcpist_services.providers().get(name)
    if declared:
        return declared
    require_dialect(name)
    for module in caller.modules if caller else ():
        if module.name == name and module.destination:
            from token_broker.providers import registered

            return registered.provider(module)
    from token_broker.providers.configured import provider

    app = get_app(name)
    assert isinstance(app, OAuthServerApp)
    return provider(name, app)


def require_dialect(service: str) -> None:
    """Raise NotConfigured for one of our services whose folder declares no dialect."""
    if service in mcpist_services.NAMES and mcpist_services.consent(service) is None:
        place = f"layers/services/mcpist_services/{service}/oauth.py"
        raise NotConfigured(service=service, problem=f"no OAuth dialect for `{service}`: add {place}")
