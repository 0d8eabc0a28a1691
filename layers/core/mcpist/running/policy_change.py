"""A change of an organization's policies: checked, previewed, and saved as the next version with its audit row."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcpist.caller import Policies
from mcpist.errors import McpistError
from mcpist.people import edits
from mcpist.people.administration import Administration
from mcpist.people.change import ChangeOptions
from mcpist.people.organization import Organization
from mcpist.policies.facts import ToolFacts, overview
from mcpist.policies.rules import PolicyRule, rules_of
from mcpist.policies.saving import check, require_change
from mcpist.running.accounts import service_of
from mcpist.tools.access.counted_calls import count_calls
from mcpist.tools.access.effects import permissions, permissions_of
from mcpist.tools.search.catalogue import Catalogue, ModuleSource

if TYPE_CHECKING:
    from mcpist.policies.decision import Verdict

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
        source = permissions(organization, catalogue, *organization.roles.values()).catalogue
        rules = tuple(check(policies, organization, source).rules.values()) if policies else ()
        looked = preview(policies, organization, catalogue) if policies and options.dry_run else None
    applied = work.change(POLICIES_UPDATE, "policies", edits.set_policies(policies), options)
    saved: Organization = applied.change.after
    return PolicyChange(saved.policies.version if saved.policies else 0, applied.change.version, rules, looked)


def preview(policies: Policies, organization: Organization, catalogue: Catalogue) -> dict[str, Any]:
    """Return the calls of the last days that policies would have refused, or about which a person would be asked.

    The audit has no arguments: what depends on them says so, as does what depends on the time, the client or the order
    of calls. Return `{days, complete, calls: [{user, tool, calls, last, verdict, policy}]}`, the most frequent first.
    """
    counted = count_calls(organization.id, None)
    rules, by_user = rules_of(policies.text), defaultdict(list)
    for call in counted["calls"]:
        if call["user"] in organization.users:
            by_user[call["user"]].append(call)
    rows = []
    for user, calls in by_user.items():
        permissions = permissions_of(organization, catalogue, user)
        names = permissions.split_name
        facts = [(call, one) for call in calls if (one := _facts(names(call["tool"]), permissions.catalogue))]
        verdicts = overview(rules, permissions.caller, [one for _, one in facts])
        rows += [
            {**call, "verdict": _word(verdict), "policy": verdict.rule}
            for (call, _), verdict in zip(facts, verdicts, strict=True)
            if verdict.level != "permit" or verdict.depends_on
        ]
    rows.sort(key=lambda row: (-row["calls"], row["user"], row["tool"]))
    return {**counted, "calls": rows}


def _facts(names: tuple[str, str], source: ModuleSource) -> ToolFacts | None:
    """Return the facts about a tool; None for one that does not exist any more."""
    module, name = names
    if module not in source.names:
        return None
    try:
        found = source.module(module)
    except McpistError:
        return None
    tool = found.tools.get(name)
    return ToolFacts(module, name, tool.effect, service=service_of(found, tool) or "") if tool else None


def _word(verdict: "Verdict") -> str:
    """Return a verdict in one word; what is not decided may also be permitted."""
    return f"perhaps {verdict.level}" if verdict.depends_on and verdict.level != "permit" else verdict.text
