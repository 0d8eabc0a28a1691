"""The providers whose tokens the broker keeps: those that services declare, and OAuth servers by their parameter."""

import mcpist_services
from mcpist.errors import NotConfigured
from mcpist.oauth.app import OAuthServerApp
from mcpist.oauth.provider import Provider
from token_broker.providers.apps import get_app


def find(name: str) -> Provider:
    """Return a provider by its name: declared by services, or described by its SSM parameter.

    Raises NotConfigured where there is none; for one of our services it names the missing file.
    """
    declared = mcpist_services.providers().get(name)
    if declared:
        return declared
    if name in mcpist_services.NAMES:
        place = f"layers/services/mcpist_services/{name}/oauth.py"
        raise NotConfigured(service=name, problem=f"no OAuth dialect for `{name}`: add {place}")
    from token_broker.providers.configured import provider

    app = get_app(name)
    assert isinstance(app, OAuthServerApp)
    return provider(name, app)
