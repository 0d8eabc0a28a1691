"""The effects that policies would have had in the last days, from the audit, before they are saved."""

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from mcpist.caller import Policies
from mcpist.errors import McpistError
from mcpist.people.organization import Organization
from mcpist.policies.facts import ToolFacts, overview
from mcpist.policies.rules import rules_of
from mcpist.running.accounts import service_of
from mcpist.tools.access.counted_calls import count_calls
from mcpist.tools.access.effects import permissions_of
from mcpist.tools.search.catalogue import Catalogue

if TYPE_CHECKING:
    from mcpist.policies.decision import Verdict


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
        facts = [(call, one) for call in calls if (one := _facts(names(call["tool"]), catalogue))]
        verdicts = overview(rules, permissions.caller, [one for _, one in facts])
        rows += [
            {**call, "verdict": _word(verdict), "policy": verdict.rule}
            for (call, _), verdict in zip(facts, verdicts, strict=True)
            if verdict.level != "permit" or verdict.depends_on
        ]
    rows.sort(key=lambda row: (-row["calls"], row["user"], row["tool"]))
    return {**counted, "calls": rows}


def _facts(names: tuple[str, str], catalogue: Catalogue) -> ToolFacts | None:
    """Return the facts about a tool; None for one that does not exist any more."""
    module, name = names
    try:
        found = catalogue.module(module)
    except (KeyError, McpistError):
        return None
    tool = found.tools.get(name)
    return ToolFacts(module, name, tool.effect, service=service_of(found, tool) or "") if tool else None


def _word(verdict: "Verdict") -> str:
    """Return a verdict in one word; what is not decided may also be permitted."""
    return f"perhaps {verdict.level}" if verdict.depends_on and verdict.level != "permit" else verdict.text
