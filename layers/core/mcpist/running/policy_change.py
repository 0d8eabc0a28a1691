"""A change of an organization's policies: checked, previewed, and saved as the next version with its audit row."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcpist.caller import Policies
from mcpist.people import edits
from mcpist.people.administration import Administration
from mcpist.people.change import ChangeOptions
from mcpist.people.organization import Organization
from mcpist.policies.rules import PolicyRule
from mcpist.policies.saving import check, require_change
from mcpist.running.policy_preview import preview
from mcpist.tools.access.effects import permissions
from mcpist.tools.search.catalogue import Catalogue

POLICIES_UPDATE = "policies.update"


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """A change of the policies; with a dry run what it would be."""

    version: int
    """Of the policies; 0 where none are left."""
    organization_version: int
    rules: tuple[PolicyRule, ...]
    preview: Mapping[str, Any] | None
    """What they would have done in the last days; only of a dry run."""


def change_policies(
    work: Administration, policies: Policies | None, catalogue: Catalogue, options: ChangeOptions
) -> PolicyChange:
    """Save policies that pass all checks, or remove them; InvalidPolicy names what is wrong with them."""
    with work.permitted(POLICIES_UPDATE, "policies"):
        _, organization = work.read()
        require_change(work.caller, organization)
        source = permissions(organization, catalogue).catalogue
        rules = tuple(check(policies, organization, source).rules.values()) if policies else ()
        looked = preview(policies, organization, catalogue) if policies and options.dry_run else None
    applied = work.change(POLICIES_UPDATE, "policies", edits.set_policies(policies), options)
    saved: Organization = applied.change.after
    return PolicyChange(saved.policies.version if saved.policies else 0, applied.change.version, rules, looked)
