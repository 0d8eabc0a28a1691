"""What a write changes is as it was once it is undone, but for ids and times: with generated arguments."""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

from mcpist.errors import InvalidRequest, NotUndoable, ToolExecutionError
from mcpist.tools.declare.schema import example_of
from mcpist.tools.declare.tool import Tool
from mcpist.tools.declare.undo import ToolChange
from mcpist_services.catalogue import CATALOGUE
from tests.faults import for_each
from tests.services.contracts import needs_descriptions, uses
from tests.services.world import World
from tests.services.worlds import RULES

GENERATED, NOT_FOUND = 6, 404
pytestmark = needs_descriptions
TOOLS = {f"{name}.{tool.name}": tool for name in RULES for tool in CATALOGUE.module(name).tools.values() if tool.undo}


@for_each("tool", TOOLS)
def test_the_state_after_an_undo_is_the_state_before_the_write(tool: Tool) -> None:
    proven = [arguments for arguments in _arguments(tool) if _comes_back(tool, arguments)]
    assert proven, "none of the generated arguments could be undone"


@cache
def _world(name: str) -> World:
    return World(name, RULES[name]())


def _comes_back(tool: Tool, arguments: dict[str, Any]) -> bool:
    world, undo = _world(tool.module), tool.undo
    world.reset()
    assert undo is not None
    tools = CATALOGUE.module(tool.module).tools
    try:
        change = ToolChange(tool.name, tool.validate(arguments))
        tool.describe_work(change.arguments)
    except InvalidRequest:
        return False
    world.rules.prepare(world, tool.name, change.arguments)
    reading = tools[undo.read] if undo.read else None
    before = None
    if reading and not undo.creates:
        before = _read(world, reading, undo.target_of(change, reading.input_schema["properties"]))
    change = ToolChange(tool.name, change.arguments, None, before)
    if not undo.creates:  # a preview
        undo.written_by(change)
        with suppress(NotUndoable):
            list(undo.calls(change))
    places, state = set(world.items), world.state()
    try:
        answer = world.perform_checked(tool, dict(change.arguments))
    except InvalidRequest:  # what it says is not in the item
        return False
    change = ToolChange(tool.name, change.arguments, answer, before)
    try:
        calls = list(undo.calls(change))
    except NotUndoable:
        return False
    if reading:
        now = _read(world, reading, undo.target_of(change, reading.input_schema["properties"]))
        left = json.loads(json.dumps(undo.written_by(change)))  # as it is kept
        assert not left or undo.fields_of(now, change) == left, "its own change is taken for a change of others"
    for call in calls:
        world.perform(tools[call.tool], dict(call.arguments))
    after = world.state(places)
    assert after == state, f"after {calls} there is {after - state} in the place of {state - after}"
    return True


def _read(world: World, tool: Tool, arguments: dict[str, Any]) -> Any:
    try:
        return world.perform(tool, arguments)
    except ToolExecutionError as error:
        if error.details["http_status"] != NOT_FOUND:
            raise
        return None


def _arguments(tool: Tool) -> Iterator[dict[str, Any]]:
    """Yield the examples of a tool, and others that are generated from its schema."""
    ways = [arguments for _, arguments in uses(tool)]
    yield from ways
    random, properties = Random(tool.name), tool.input_schema["properties"]  # noqa: S311 - no secret
    for _ in range(GENERATED):
        made = {}
        for name, spec in properties.items():
            if name in tool.input_schema.get("required", ()) or random.random() < 0.4:
                example = next((way[name] for way in random.sample(ways, len(ways)) if name in way), None)
                made[name] = _value(random, name, spec, example)
        yield {name: value for name, value in made.items() if value is not None}


def _value(random: Random, name: str, spec: dict[str, Any], example: Any) -> Any:
    kinds = [one for one in (spec, *spec.get("anyOf", ())) if one.get("type") != "null"]
    kind = random.choice([one for one in kinds if "anyOf" not in one] or kinds)
    if "enum" in kind:
        return random.choice(kind["enum"])
    if kind.get("type") == "boolean":
        return random.random() < 0.5
    if kind.get("type") == "string" and name in TEXTS:
        return "".join(random.choice("abc déf日本語 xyz") for _ in range(random.randint(1, 12))).strip() or "x"
    return example if example is not None else example_of(kind)


TEXTS = {"title", "summary", "description", "body", "display_name", "text", "location", "message", "comment"}


def test_what_others_have_changed_since_is_shown_and_nothing_of_it_is_overwritten() -> None:
    world = _world("github")
    world.reset()
    closed = [
        _use(world, "update_issue", {**HERE, "issue_number": number, "state": "closed"}) for number in range(1, 11)
    ]
    world.perform(_tool(world, "update_issue"), {**HERE, "issue_number": 7, "title": "Theirs", "state": "open"})
    world.perform(_tool(world, "update_issue"), {**HERE, "issue_number": 8, "title": "Theirs"})
    assert [change.arguments["issue_number"] for change in closed if _differs(world, change)] == [7]
    for change in reversed(closed):
        if not _differs(world, change):
            _take_back(world, change)
    issues = [world.item(f"/repos/octocat/app/issues/{number}") for number in range(1, 11)]
    assert {issue["state"] for issue in issues} == {"open"}
    assert [issue["title"] for issue in issues].count("Theirs") == 2


def test_a_file_that_was_made_changed_and_deleted_is_gone_once_all_is_undone_in_reverse() -> None:
    world = _world("github")
    world.reset()
    world.deleted.add("/repos/octocat/app/contents/plan.md")
    where = {**HERE, "path": "plan.md", "message": "Plan", "branch": "main"}
    made = _use(world, "put_file", {**where, "content": "# One"})
    changed = _use(world, "put_file", {**where, "content": "# Two", "sha": made.answer["content"]["sha"]})
    deleted = _use(world, "delete_file", {**where, "sha": changed.answer["content"]["sha"]})
    _take_back(world, deleted)
    assert _read(world, _tool(world, "get_file"), {**HERE, "path": "plan.md"})["content"] == "# Two"
    _take_back(world, changed)
    _take_back(world, made)
    assert _read(world, _tool(world, "get_file"), {**HERE, "path": "plan.md"}) is None


def test_a_page_gets_its_macros_back_that_a_new_text_had_replaced() -> None:
    world = _world("confluence")
    world.reset()
    before = _read(world, _tool(world, "get_page"), {"page_id": "65551"})["body"]
    written = _use(world, "update_page", {"page_id": "65551", "body": "All new", "title": "Other"})
    assert "toc" not in str(written.answer["body"])
    _take_back(world, written)
    assert _read(world, _tool(world, "get_page"), {"page_id": "65551"})["body"] == before


def test_issues_go_back_to_their_own_sprints_and_statuses() -> None:
    world = _world("jira")
    world.reset()
    keys = ["ENG-1", "ENG-2", "ENG-3"]
    world.perform(_tool(world, "move_to_backlog"), {"issues": ["ENG-3"]})
    moved = _use(world, "move_to_sprint", {"sprint_id": 12, "issues": keys})
    done = _use(world, "transition_issues", {"issue_keys": keys, "transition": "Done"})
    assert not _differs(world, moved)
    assert not _differs(world, done)
    _take_back(world, done)
    _take_back(world, moved)
    found = _read(world, _tool(world, "search"), {"jql": "key in (ENG-1, ENG-2, ENG-3)"})["issues"]
    assert [(issue["fields"]["customfield_10020"] or [{}])[0].get("id") for issue in found] == [9, 9, None]
    assert {issue["fields"]["status"]["name"] for issue in found} == {"Open"}


def test_an_invitation_that_was_accepted_waits_for_an_answer_again() -> None:
    world = _world("google_calendar")
    world.reset()
    accepted = _use(world, "answer_invitation", {"event_id": "1", "response": "accepted", "comment": "With pleasure"})
    _take_back(world, accepted)
    answers = [guest["responseStatus"] for guest in world.item("/calendars/primary/events/1")["attendees"]]
    assert answers == ["needsAction", "needsAction"]


def test_an_event_that_was_moved_goes_back_to_its_calendar_and_its_time() -> None:
    world = _world("google_calendar")
    world.reset()
    before = dict(world.item("/calendars/primary/events/1"))
    times = {"start": "2026-02-02T09:00:00+09:00", "end": "2026-02-02T10:00:00+09:00"}
    later = _use(world, "update_event", {"event_id": "1", **times})
    moved = _use(world, "move_event", {"event_id": "1", "destination": "team@group.calendar.google.com"})
    assert world.items["/calendars/team@group.calendar.google.com/events/1"]["start"] != before["start"]
    _take_back(world, moved)
    _take_back(world, later)
    assert world.item("/calendars/primary/events/1") == before


def test_a_page_that_went_to_the_trash_is_back_with_its_properties() -> None:
    world = _world("notion")
    world.reset()
    page = "b55c9c91384d452b81dbd1ef79372b75"
    before = _read(world, _tool(world, "get_page"), {"page_id": page})
    trashed = _use(world, "trash_page", {"page_id": page})
    assert _read(world, _tool(world, "get_page"), {"page_id": page})["in_trash"] is True
    _take_back(world, trashed)
    assert _read(world, _tool(world, "get_page"), {"page_id": page}) == before


def test_a_message_that_others_have_replied_to_is_not_deleted_silently() -> None:
    world = _world("slack")
    world.reset()
    sent = _use(world, "send_message", {"channel": "C0123ABCD45", "markdown": "Shall we ship?"})
    assert not _differs(world, sent)
    world.change(f"/C0123ABCD45/messages/{sent.answer['ts']}", {"reply_count": 1})
    assert _differs(world, sent) == {"replies"}


HERE = {"owner": "octocat", "repo": "app"}


def _tool(world: World, name: str) -> Tool:
    return world.module.tools[name]


def _use(world: World, name: str, arguments: dict[str, Any]) -> ToolChange:
    """Use a tool, and return its change as it is kept."""
    tool = _tool(world, name)
    undo, change = tool.undo, ToolChange(name, tool.validate(arguments))
    assert undo is not None
    reading = _tool(world, undo.read)
    if not undo.creates:
        target = undo.target_of(change, reading.input_schema["properties"])
        change = replace(change, before=_read(world, reading, target))
    return replace(change, answer=world.perform_checked(tool, dict(change.arguments)))


def _differs(world: World, change: ToolChange) -> set[str]:
    """Return the fields of a change's target that are not as the change has left them."""
    undo = _tool(world, change.tool).undo
    assert undo is not None
    reading = _tool(world, undo.read)
    now = undo.fields_of(_read(world, reading, undo.target_of(change, reading.input_schema["properties"])), change)
    left = undo.written_by(change)
    return {name for name in left if now.get(name) != left[name]}


def _take_back(world: World, change: ToolChange) -> None:
    undo = _tool(world, change.tool).undo
    assert undo is not None
    for call in undo.calls(change):
        world.perform(_tool(world, call.tool), dict(call.arguments))
