"""Accounts of modules that an organization registered: keys that people paste, never consents.

Such a module's address is its administrator's choice, and no client of ours may be used there.
"""

from dataclasses import replace

from mcpist.caller import RegisteredModule
from mcpist.oauth.provider import Provider
from mcpist_services.described.compiled import consent_of
from mcpist_services.described.overlay import AccountRule, Security


def provider(module: RegisteredModule) -> Provider:
    """Return the provider of a module that takes accounts."""
    declared = consent_of(AccountRule(name=module.name, title=module.name, security=Security(kind="bearer")))
    assert declared is not None
    return replace(declared.provider, scopes_by_service={module.name: ()})
