"""The services: one folder each, and one line each in this table. Importing it imports no tool and no dialect."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from mcpist.memory import cached

if TYPE_CHECKING:
    from mcpist.caller import Caller
    from mcpist.oauth.provider import Consent, Provider
    from mcpist_services.described.account_rule import AccountRule

TITLES = {
    "changes": "Changes",
    "confluence": "Confluence",
    "files": "Files",
    "github": "GitHub",
    "google_calendar": "Google Calendar",
    "jira": "Jira",
    "microsoft_todo": "Microsoft To Do",
    "mysql": "MySQL",
    "notion": "Notion",
    "people": "People",
    "postgresql": "PostgreSQL",
    "rag": "Documents",
    "slack": "Slack",
    "supabase": "Supabase",
}
"""The written services, with the names that people know them by."""

NAMES = tuple(TITLES)
_MODULE_TITLES = {"automations": "Automations", "saved": "Saved batches"}
"""Those of modules that every organization has with tools of its own."""


def title(service: str) -> str:
    """Return the name that people know a service by; a service outside the table has no other than its own."""
    if known := TITLES.get(service) or _MODULE_TITLES.get(service):
        return known
    account = _imported_account(service)
    return account.title if account else service


def names() -> tuple[str, ...]:
    """Return the names of all services: the written ones, then the imported APIs."""
    from mcpist_services.described.compiled import imported_apis

    imported = imported_apis()
    return (*NAMES, *imported.names) if imported else NAMES


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


def key_example(service: str) -> str:
    """Return how a key of a service looks, e.g. `github_pat_…`; empty where it has no such form."""
    declared = consent(service)
    return declared.provider.key_example if declared else ""


def services_with_accounts() -> tuple[str, ...]:
    """Return the services whose accounts people connect."""
    return tuple(service for service in names() if consent(service))


def connectable_services(caller: "Caller") -> tuple[str, ...]:
    """Return the services that need an account; for a caller who is no administrator those of the caller's roles."""
    modules = {module for role in caller.roles for module in role.modules}
    is_admin = caller.system_role == "admin"
    registered = (module.name for module in caller.modules if module.destination)
    return tuple(name for name in (*services_with_accounts(), *registered) if is_admin or name in modules)


def dialect_modules() -> tuple[str, ...]:
    """Return the modules that `providers` imports, for a snapshot to hold."""
    places = (f"{__name__}.{service}.oauth" for service in NAMES)
    return tuple(place for place in places if find_spec(place))


@cached
def consent(service: str) -> "Consent | None":
    """Return how accounts of a service are connected; None where it needs none, or is none of ours."""
    if service in NAMES:
        if find_spec(f"{__name__}.{service}.oauth") is None:
            return None
        declared: Consent = import_module(f"{__name__}.{service}.oauth").CONSENT
        return declared
    account = _imported_account(service)
    if account is None:
        return None
    from mcpist_services.described.compiled import consent_of

    return consent_of(account)


def _imported_account(service: str) -> "AccountRule | None":
    from mcpist_services.described.compiled import imported_apis

    imported = imported_apis()
    return imported.account(service) if imported and service in imported.names else None


@cached
def providers() -> "dict[str, Provider]":
    """Return the providers by name, each with the scopes of its services; this imports all dialects."""
    from dataclasses import replace

    declared = {service: found for service in names() if (found := consent(service))}
    return {
        provider.name: replace(
            provider,
            scopes_by_service={
                name: one.scopes for name, one in declared.items() if one.provider.name == provider.name
            },
        )
        for provider in {one.provider.name: one.provider for one in declared.values()}.values()
    }
