"""The effects that policies would have had in the last days, from the audit, before they are saved."""

import time
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from mcpist.audit.search import MAX_ROWS, Filters, find
from mcpist.caller import Policies
from mcpist.errors import McpistError
from mcpist.memory import Clock
from mcpist.people.organization import Organization
from mcpist.policies.facts import ToolFacts, overview
from mcpist.policies.rules import rules_of
from mcpist.running.accounts import service_of
from mcpist.tools.access.effects import permissions_of
from mcpist.tools.search.catalogue import Catalogue

if TYPE_CHECKING:
    from mcpist.policies.decision import Verdict

PREVIEW_DAYS = 30
MAX_PREVIEW_COUNT_SECONDS = 1.0
"""After these no further row is read: what was counted is then the least."""


def preview(
    policies: Policies, organization: Organization, catalogue: Catalogue, clock: Clock = time.monotonic
) -> dict[str, Any]:
    """Return the calls of the last days that policies would have refused, or about which a person would be asked.

    The audit has no arguments: what depends on them says so, as does what depends on the time, the client or the order
    of calls. Return `{days, complete, calls: [{user, tool, calls, last, verdict, policy}]}`, the most frequent first.
    """
    counts, complete = _count(organization.id, clock)
    rules, by_user = rules_of(policies.text), defaultdict(list)
    for (user, tool), found in counts.items():
        if user in organization.users:
            by_user[user].append((tool, found))
    rows = []
    for user, used in by_user.items():
        permissions = permissions_of(organization, catalogue, user)
        facts = [(tool, found, one) for tool, found in used if (one := _facts(permissions.split_name(tool), catalogue))]
        verdicts = overview(rules, permissions.caller, [one for _, _, one in facts])
        rows += [
            {"user": user, "tool": tool, **found, "verdict": _word(verdict), "policy": verdict.rule}
            for (tool, found, _), verdict in zip(facts, verdicts, strict=True)
            if verdict.level != "permit" or verdict.depends_on
        ]
    rows.sort(key=lambda row: (-row["calls"], row["user"], row["tool"]))
    return {"days": PREVIEW_DAYS, "complete": complete, "calls": rows}


def _count(organization: str, clock: Clock) -> tuple[dict[tuple[str, str], dict[str, Any]], bool]:
    """Return the numbers of calls by user and tool with the time of the last one, and whether all rows were read."""
    counts: dict[tuple[str, str], dict[str, Any]] = {}
    now, deadline = datetime.now(UTC), clock() + MAX_PREVIEW_COUNT_SECONDS
    since, cursor, filters = now - timedelta(days=PREVIEW_DAYS), "", Filters(event="use", outcome="succeeded")
    while True:
        page = find(organization, since=since, until=now, filters=filters, cursor=cursor, limit=MAX_ROWS)
        for row in page.rows:
            # Rows come newest first, so the first one of a tool is its last call.
            new = {"calls": 0, "last": row["time"]}
            counts.setdefault((row["user"], row["tool"]), new)["calls"] += 1
        cursor = page.cursor
        if not cursor or clock() >= deadline:
            return counts, not cursor


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
