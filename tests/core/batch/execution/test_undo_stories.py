"""Stories of undos from end to end: through the gate, the journal and a batch, at a service that keeps what it is told.

More of them: tests/whole/test_undo.py, tests/services/test_undone.py and test_undone_stores.py, and test_undo.py here.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from mcpist.batch.execution.undo import plan_undo
from mcpist.caller import Role
from mcpist.errors import AuthorizationError, NothingToUndo
from mcpist.running import changes
from mcpist.running.gate import CONFIRMED, ToolUse, admit
from tests.audit_items import audit_items
from tests.core.batch.execution.undo_story import BATCH, UMA, Story, items, step
from tests.core.running.tracker import Tracker, tracking

OFFICER = replace(UMA, user="ann", system_role="admin")


@pytest.fixture
def tracker(aws: list[str]) -> Iterator[Tracker]:  # noqa: ARG001 - the tables
    with tracking() as service:
        yield service


def close_all(story: Story, count: int) -> None:
    """Close each of the tracker's items, as the elements of one step of a batch."""
    for number in range(count):
        use = ToolUse("tracker", "update_item", {"item_id": f"i{number}", "state": "closed"}, "r1", BATCH, "close")
        admit(story.permissions, use, CONFIRMED).run(20)


def test_all_stale_issues_are_closed_and_open_again_but_for_the_one_that_somebody_else_has_changed_since(
    tracker: Tracker,
) -> None:
    items(tracker, 12)
    story = Story(tracker)
    close_all(story, 12)
    tracker.items["i7"]["state"] = "duplicate"
    tracker.items["i8"]["title"] = "theirs"
    undo = list(plan_undo(UMA, BATCH).commands)
    assert story.plan(undo).graph.depth == 1
    assert len(story.run(undo, "b_undo")) == 11
    assert {item["state"] for item in tracker.items.values()} == {"open", "duplicate"}
    assert tracker.items["i8"] == {"id": "i8", "title": "theirs", "state": "open", "note": None}
    (left,) = plan_undo(UMA, BATCH).commands
    assert len(story.run([left | {"anyway": True}], "b_anyway")) == 1
    assert tracker.items["i7"]["state"] == "open"


def test_an_administrator_undoes_for_somebody_who_has_left_and_nobody_else_does(tracker: Tracker) -> None:
    items(tracker, 2)
    Story(tracker).run([step(name, "update_item", item_id=name, title="hers") for name in ("i0", "i1")])
    with pytest.raises(AuthorizationError):
        plan_undo(replace(UMA, user="bob"), f"uma/{BATCH}")
    undo = plan_undo(OFFICER, f"uma/{BATCH}")
    assert not any("account" in command for command in undo.commands)
    assert len(Story(tracker, OFFICER).run(list(undo.commands), "b_undo")) == 2
    assert Story(tracker).titles() == [("t0", "open"), ("t1", "open")]
    assert ("changes.list", "ann") in {(row.get("tool"), row.get("user")) for row in audit_items("acme")}


def test_an_administrator_undoes_a_batch_by_its_id_alone_and_nobody_else_finds_it(tracker: Tracker) -> None:
    items(tracker, 1)
    commands = [step("a", "update_item", item_id="i0", title="hers")]
    Story(tracker).keep_graph(commands)
    Story(tracker).run(commands)
    with pytest.raises(NothingToUndo):
        plan_undo(replace(UMA, user="bob"), BATCH)
    assert len(Story(tracker, OFFICER).run(list(plan_undo(OFFICER, BATCH).commands), "b_undo")) == 1
    assert Story(tracker).titles() == [("t0", "open")]
    assert ("changes.list", "ann") in {(row.get("tool"), row.get("user")) for row in audit_items("acme")}


def test_a_batch_that_went_on_with_another_is_undone_with_what_that_had_done(tracker: Tracker) -> None:
    items(tracker, 2)
    story, second = Story(tracker), "b_fedcba9876543210"
    commands = [step(f"s{number}", "update_item", item_id=f"i{number}", title="new") for number in range(2)]
    story.keep_graph(commands)
    story.run(commands[:1])
    story.keep_graph(commands, second, resumes=BATCH)
    story.run(commands[1:], second)
    assert len(story.run(list(plan_undo(UMA, second).commands), "b_undo")) == 2
    assert story.titles() == [("t0", "open"), ("t1", "open")]


def test_a_role_that_may_not_write_any_more_undoes_nothing_and_takes_no_claim(tracker: Tracker) -> None:
    items(tracker, 1)
    Story(tracker).run([step("a", "update_item", item_id="i0", title="new")])
    reader = replace(UMA, roles=(Role("reader", modules=("tracker",)),))
    undo = list(plan_undo(reader, BATCH).commands)
    with pytest.raises(AuthorizationError):
        Story(tracker, reader).plan(undo)
    assert Story(tracker).run(undo, "b_undo") == [undo[0]["id"]]
    assert Story(tracker).titles() == [("t0", "open")]


def test_everything_since_a_moment_is_undone_and_nothing_before_it(tracker: Tracker) -> None:
    items(tracker, 3)
    story = Story(tracker)
    story.run([step("a", "update_item", item_id="i0", title="before")], "")
    (first,) = changes.list_changes(UMA)
    moment = datetime.fromtimestamp((int(first.id[2 : 2 + changes.TIME_CHARACTERS], 16) + 1) / 1000, UTC)
    story.run([step("b", "update_item", item_id="i1", title="after"), step("c", "create_item", title="made")], "")
    story.run(list(plan_undo(UMA, moment.isoformat()).commands), "b_undo")
    assert story.titles() == [("before", "open"), ("t1", "open"), ("t2", "open")]
    with pytest.raises(NothingToUndo):
        plan_undo(UMA, moment.isoformat())
