"""Wrong declarations, each of which a check of the contract must refute without any recorded request."""

from collections.abc import Callable
from copy import copy
from functools import cache, partial

import pytest

from mcpist.errors import McpistError
from tests.services.checks import CHECKS
from tests.services.contracts import Vendor, needs_descriptions
from tests.services.mutants import mutant
from tests.services.senses import SENSES

pytestmark = needs_descriptions

MUTATIONS = [
    # Values that the vendor does not know, in lists and alone.
    ("jira", "list_sprints", '"future", "active"', '"furture", "active"'),
    ("jira", "list_boards", '"kanban", "simple"', '"kanban", "simpel"'),
    ("jira", "list_projects", '"service_desk"', '"servicedesk"'),
    ("github", "list_repos", '"owner", "collaborator"', '"owner", "colaborator"'),
    ("confluence", "list_pages", '"deleted", "trashed"]], "Current and', '"deleted", "trash"]], "Current and'),
    ("confluence", "list_children", 'Order = Literal[Dates, "id"', 'Order = Literal[Dates, "ids"'),
    ("supabase", "get_health", '"pg_bouncer"', '"pgbouncer"'),
    ("google_calendar", "create_event", 'Literal["opaque"', 'Literal["opaqe"'),
    ("google_calendar", "update_event", '"public", "private"', '"public", "privat"'),
    ("slack", "search_messages", '["score", "timestamp"]', '["score", "time"]'),
    # Columns that show the field of another.
    ("jira", "list_sprints", '"endDate as end", "goal"', '"startDate as end", "goal"'),
    ("jira", "list_sprints", '"startDate as start", "endDate', '"completeDate as start", "endDate'),
    ("github", "list_pulls", '"head.ref as head"', '"base.repo.name as head"'),
    (
        "github",
        "list_issue_comments",
        '"created_at as created", "body")',
        '"body as created", "body")',
    ),
    # Requests that mean something else.
    (
        "jira",
        "link_issues",
        '{"inwardIssue": by_key_or_id(inward',
        '{"inwardIssue": by_key_or_id(outward',
    ),
    ("jira", "transition_issue", '{"transition": {"id": chosen', '{"transition": {"key": chosen'),
    ("jira", "search", '{"nextPageToken": token}', '{"pageToken": token}'),
    ("github", "get_file", "given(ref=ref), headers=kind)", "given(ref=ref))"),
    ("confluence", "add_labels", '{"prefix": "global"', '{"prefix": "my"'),
    ("confluence", "add_labels", '{"prefix": "global"', '{"prefix": "globl"'),
]


@cache
def vendor(name: str) -> Vendor:
    """A module's services; reading their descriptions takes a while."""
    return Vendor(name)


@pytest.mark.parametrize(("service", "tool", "old", "new"), MUTATIONS, ids=[f"{one[1]} {one[3]}" for one in MUTATIONS])
def test_a_wrong_declaration_is_refuted(service: str, tool: str, old: str, new: str) -> None:
    module = mutant(service, old, new)
    other = copy(vendor(service))
    other.module = module
    checks = [partial(check, other, module.tools[tool]) for check in CHECKS]
    if tool in SENSES.get(service, {}):
        checks.append(partial(SENSES[service][tool], module))
    assert any(map(_refutes, checks))


def test_what_is_unchanged_is_not_refuted() -> None:
    module = mutant("jira", '"scrum", "kanban"', '"kanban", "scrum"')
    other = copy(vendor("jira"))
    other.module = module
    assert not any(_refutes(partial(check, other, module.tools["list_boards"])) for check in CHECKS)


def _refutes(check: Callable[[], None]) -> bool:
    """Whether a check fails: a contract's refusal is an AssertionError, and a tool may not understand an answer."""
    try:
        check()
    except (AssertionError, LookupError, TypeError, McpistError):
        return True
    return False
