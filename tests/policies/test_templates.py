"""Each policy to start from stops what its title says, and nothing beside it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from mcpist.caller import Caller, Policies, Role, Subject
from mcpist.policies.decision import decide
from mcpist.policies.facts import Moment, ToolFacts, questions
from mcpist.policies.history import NO_HISTORY, History
from mcpist.policies.place import StepPlace
from mcpist.policies.rules import rules_of
from mcpist_services.catalogue import CATALOGUE
from mcpist_services.policy_templates import templates

UMA = Caller("acme", "uma", Subject("https://login.example.com", "uma"), "user", (Role("dev"),))
FRIDAY, SUNDAY = (datetime(2026, 11, day, 9, 30, tzinfo=UTC) for day in (27, 29))
REPOSITORY = {"owner": "our-organization", "repo": "r"}
MEETING = {"summary": "Review", "start": "2026-12-01T10:00:00Z", "end": "2026-12-01T11:00:00Z"}
MESSAGE = {"channel": "dev", "markdown": "Hi"}
FROM_ISSUES, FROM_SLACK = (
    StepPlace(True, frozenset({"github.list_issues"})),
    StepPlace(True, frozenset({"slack.search"})),
)
# For each: what it stops, with the decision, and what it lets pass.
CASES: dict[str, list[tuple[str, dict[str, Any], dict[str, Any], str]]] = {
    "own-organization": [
        ("github.get_repo", {**REPOSITORY, "owner": "elsewhere"}, {}, "refuse"),
        ("github.get_repo", REPOSITORY, {}, "permit"),
        ("slack.send_message", MESSAGE, {}, "permit"),
    ],
    "office-hours": [
        ("slack.send_message", MESSAGE, {"now": SUNDAY}, "refuse"),
        ("slack.send_message", MESSAGE, {"now": FRIDAY.replace(hour=18)}, "refuse"),
        ("slack.send_message", MESSAGE, {}, "permit"),
        ("github.get_repo", REPOSITORY, {"now": SUNDAY}, "permit"),
    ],
    "no-mail-outside": [
        ("google_calendar.create_event", {**MEETING, "attendees": ["eve@elsewhere.example"]}, {}, "refuse"),
        ("google_calendar.create_event", {**MEETING, "attendees": ["ada@example.com"]}, {}, "permit"),
    ],
    "deletion-second-person": [
        ("github.delete_branch", {**REPOSITORY, "branch": "b"}, {}, "approve"),
        ("slack.send_message", MESSAGE, {}, "permit"),
    ],
    "module-limit": [
        ("github.get_repo", REPOSITORY, {"history": History(uses={"github": 500})}, "refuse"),
        ("github.get_repo", REPOSITORY, {"history": History(uses={"github": 499, "slack": 9})}, "permit"),
        ("slack.send_message", MESSAGE, {"history": History(uses={"slack": 500})}, "permit"),
    ],
    "production-read-only": [
        ("supabase.execute_sql", {}, {"account": "production"}, "refuse"),
        ("supabase.execute_sql", {}, {"account": "staging"}, "permit"),
        ("supabase.query", {}, {"account": "production"}, "permit"),
    ],
    "untrusted-asks": [
        ("slack.send_message", MESSAGE, {"place": FROM_ISSUES}, "ask"),
        ("slack.send_message", MESSAGE, {"place": FROM_SLACK}, "permit"),
        ("github.get_repo", REPOSITORY, {"place": FROM_ISSUES}, "permit"),
    ],
}
TEXTS = {one.name: one.text for one in templates("en")}


@pytest.mark.parametrize(("name", "case"), [(name, case) for name, cases in CASES.items() for case in cases])
def test_a_template_decides_as_its_title_says(name: str, case: tuple[str, dict[str, Any], dict[str, Any], str]) -> None:
    full_name, arguments, more, expected = case
    service, _, tool_name = full_name.partition(".")
    tool, text = CATALOGUE.module(service).tools[tool_name], TEXTS["base"] + TEXTS[name]
    facts = {one: value for one, value in more.items() if one not in {"now", "history"}}
    use = ToolFacts(
        service, tool_name, tool.effect, schema=tool.input_schema, service=service, arguments=arguments, **facts
    )
    now, history = more.get("now", FRIDAY), more.get("history", NO_HISTORY)
    moment = Moment(UMA, Policies(1, text), rules_of(text), now, labels_of, history)
    (verdict,) = decide(moment.rules, questions(moment, [use]))
    assert verdict.level == expected


def labels_of(name: str) -> set[str]:
    module, _, tool = name.partition(".")
    return CATALOGUE.module(module).labels_of(tool)


def test_all_templates_are_tried() -> None:
    assert {"base", *CASES} == set(TEXTS)
