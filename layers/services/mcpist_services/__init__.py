"""The services: one folder each, and one line each in this table. Importing it imports no tool and no dialect."""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcpist.oauth.provider import Consent, Provider

NAMES = (
    "confluence",
    "files",
    "github",
    "google_calendar",
    "jira",
    "microsoft_todo",
    "notion",
    "rag",
    "supabase",
)


def title(service: str) -> str:
    """Return the name that people know a service by; a service outside the table has no other than its own."""
    return str(import_module(f"{__name__}.{service}").TITLE) if service in NAMES else service


def provider_name(service: str) -> str:
    """Return the name of the issuer of a service's tokens: the service's own, where it declares no other."""
    declared = consent(service)
    return declared.provider.name if declared else service


def provider_title(service: str) -> str:
    """Return the name that people know the issuer of a service's tokens by."""
    declared = consent(service)
    return declared.provider.title if declared and declared.provider.title else title(service)


def key_page(service: str) -> str:
    """Return the address at which people create a key of a service; empty where it accepts none."""
    declared = consent(service)
    return declared.provider.key_page if declared else ""


def services_with_accounts() -> tuple[str, ...]:
    """Return the services whose accounts people connect."""
    return tuple(service for service in NAMES if consent(service))


def dialect_modules() -> tuple[str, ...]:
    """Return the modules that `providers` imports, for a snapshot to hold."""
    places = (f"{__name__}.{service}.oauth" for service in NAMES)
    return tuple(place for place in places if find_spec(place))


@cache
def consent(service: str) -> "Consent | None":
    """Return how accounts of a service are connected; None where its folder has no oauth.py, or it has no folder."""
    if service not in NAMES or find_spec(f"{__name__}.{service}.oauth") is None:
        return None
    declared: Consent = import_module(f"{__name__}.{service}.oauth").CONSENT
    return declared


@cache
def providers() -> "dict[str, Provider]":
    """Return the providers by name, each with the scopes of its services; this imports all dialects."""
    from dataclasses import replace

    declared = {service: found for service in NAMES if (found := consent(service))}
    return {
        provider.name: replace(
            provider,
            scopes_by_service={name: one.scopes for name, one in declared.items() if one.provider is provider},
        )
        for provider in {one.provider.name: one.provider for one in declared.values()}.values()
    }
