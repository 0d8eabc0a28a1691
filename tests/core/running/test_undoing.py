"""Writes that can be undone: what is kept of them, and that an undo happens once and loses nothing of others."""

import zlib
from collections.abc import Iterator
from dataclasses import replace
from secrets import token_hex
from typing import Any

import pytest

from mcpist.caller import Role
from mcpist.errors import AlreadyUndone, ChangeNotFound, IntegrityError, McpistError, NotUndoable, TargetChanged
from mcpist.running import changes
from mcpist.running.changes import ChangeRecord
from tests.audit_items import audit_items
from tests.core.loopback import Reply
from tests.core.running.tracker import Tracker, tracking
from tests.core.sample import caller

UMA = caller(Role("everything", modules=("tracker",), allow=("*",), destructive=True))
KEEPING = replace(UMA, undoable=True)
UNDOABLE = {"undoable": True}


@pytest.fixture
def tracker(aws: list[str]) -> Iterator[Tracker]:  # noqa: ARG001 - the tables
    with tracking() as service:
        service.items["7"] = {"id": "7", "title": "old", "state": "open", "note": None}
        yield service


def only_change() -> ChangeRecord:
    (record,) = changes.list_changes(UMA)
    return record


def undo(tracker: Tracker, record: ChangeRecord, request: str = "u1", **options: Any) -> Any:
    """Run the first call that undoes a change."""
    tool, arguments = changes.load(record).calls[0]
    return tracker.run(UMA, tool, request, **arguments, options={"undoes": record.id, **options})


def test_an_update_keeps_the_fields_as_they_were_and_names_the_change_in_its_row(tracker: Tracker) -> None:
    tracker.run(UMA, "update_item", item_id="7", title="new", options=UNDOABLE)
    record = only_change()
    content = changes.load(record)
    assert (content.was, content.became) == ({"title": "old"}, {"title": "new"})
    rows = {(row["tool"], row["outcome"]): row.get("change", "") for row in audit_items("acme")}
    assert rows["tracker.update_item", "succeeded"] == record.id
    assert record.sha256.startswith(record.id[13:])
    undo(tracker, record)
    assert tracker.items["7"] == {"id": "7", "title": "old", "state": "open", "note": None}


def test_nothing_is_kept_or_read_unless_the_caller_or_its_organization_wants_it(tracker: Tracker) -> None:
    tracker.run(UMA, "update_item", item_id="7", title="new")
    assert (changes.list_changes(UMA), len(tracker.received)) == ([], 1)
    tracker.run(KEEPING, "update_item", item_id="7", title="newer")
    assert (only_change().problem, len(tracker.received)) == ("", 3)


def test_what_was_created_is_deleted_and_what_was_deleted_is_created_again(tracker: Tracker) -> None:
    made = tracker.run(KEEPING, "create_item", title="made")
    undo(tracker, only_change())
    assert made["id"] not in tracker.items
    tracker.run(KEEPING, "delete_item", item_id="7")
    undo(tracker, changes.list_changes(UMA)[0])
    assert [item["title"] for item in tracker.items.values()] == ["old"]


def test_a_change_is_undone_once(tracker: Tracker) -> None:
    tracker.run(UMA, "update_item", item_id="7", title="new", options=UNDOABLE)
    record = only_change()
    undo(tracker, record)
    tracker.items["7"]["title"] = "new"
    with pytest.raises(AlreadyUndone, match="by u1"):
        undo(tracker, record, "u2", anyway=True)
    assert tracker.items["7"]["title"] == "new"


def test_an_undo_that_was_killed_is_not_repeated_and_one_that_was_refused_can_be(tracker: Tracker) -> None:
    tracker.run(UMA, "update_item", item_id="7", title="new", options=UNDOABLE)
    record = only_change()
    tracker.before = lambda method, _: Reply(b'{"message": "no"}', 422) if method == "PATCH" else None
    with pytest.raises(McpistError):
        undo(tracker, record)
    tracker.before = lambda method, _: kill() if method == "PATCH" else None
    undo_is_lost = pytest.raises(McpistError)
    with undo_is_lost:
        undo(tracker, record, "u2")
    tracker.before = lambda *_: None
    with pytest.raises(AlreadyUndone, match="by u2"):
        undo(tracker, record, "u3")


def kill() -> None:
    """End the connection in the middle of a response."""
    raise ConnectionError


@pytest.mark.parametrize("anyway", [False, True])
def test_what_somebody_else_has_changed_since_is_lost_only_if_that_is_asked_for(tracker: Tracker, anyway: bool) -> None:
    tracker.run(UMA, "update_item", item_id="7", title="new", state="closed", options=UNDOABLE)
    record = only_change()
    tracker.items["7"]["note"] = "of another"  # a field that the undo does not touch
    tracker.items["7"]["title"] = "theirs"
    if anyway:
        undo(tracker, record, anyway=True)
        assert tracker.items["7"] == {"id": "7", "title": "old", "state": "open", "note": "of another"}
        return
    with pytest.raises(TargetChanged) as refused:
        undo(tracker, record)
    assert refused.value.details["differences"] == {"title": {"left": "new", "now": "theirs"}}
    assert tracker.items["7"]["title"] == "theirs"
    tracker.items["7"]["title"] = "new"
    undo(tracker, record)
    assert tracker.items["7"]["note"] == "of another"


def test_what_nothing_undoes_is_refused_where_it_must_be_undoable_and_else_named(tracker: Tracker) -> None:
    with pytest.raises(NotUndoable, match="a message that was sent"):
        tracker.run(UMA, "send", item_id="7", text="hello", options=UNDOABLE)
    assert tracker.written == []
    tracker.run(KEEPING, "send", item_id="7", text="hello")
    assert only_change().problem == "a message that was sent"


def test_a_write_that_is_kept_costs_a_read_with_its_row_and_no_other_request(tracker: Tracker, aws: list[str]) -> None:
    tracker.run(UMA, "update_item", item_id="7", title="new")
    plain = sorted(aws)
    aws.clear()
    tracker.run(KEEPING, "update_item", item_id="7", title="newer")
    assert sorted(aws) == sorted([*plain, "TransactWriteItems"])


def test_a_large_content_is_a_file_and_a_content_that_somebody_changed_is_no_undo(tracker: Tracker) -> None:
    text = token_hex(10_000)
    tracker.run(KEEPING, "update_item", item_id="7", title=text)
    assert (only_change().content, changes.load(only_change()).became) == (None, {"title": text})
    tracker.run(KEEPING, "update_item", item_id="7", title="small")
    record = changes.list_changes(UMA)[0]
    with pytest.raises(IntegrityError):
        changes.load(replace(record, content=zlib.compress(b"{}")))


def test_a_field_that_was_empty_makes_a_change_that_says_so(tracker: Tracker) -> None:
    tracker.run(UMA, "update_item", item_id="7", note="n", options=UNDOABLE)
    assert only_change().problem == "note was empty and cannot be emptied"


def test_only_the_call_that_undoes_a_change_may_say_so(tracker: Tracker) -> None:
    tracker.run(UMA, "update_item", item_id="7", title="new", options=UNDOABLE)
    with pytest.raises(NotUndoable):
        tracker.run(UMA, "update_item", item_id="7", title="other", options={"undoes": only_change().id})
    assert tracker.items["7"]["title"] == "new"


def test_a_change_belongs_to_its_user_and_an_administrators_look_leaves_a_row(tracker: Tracker) -> None:
    tracker.run(UMA, "update_item", item_id="7", title="new", options=UNDOABLE)
    other = replace(UMA, user="bob")
    assert changes.list_changes(other) == []
    with pytest.raises(ChangeNotFound):
        changes.find(other, only_change().id)
    with pytest.raises(McpistError, match="changes of others"):
        changes.find(other, f"uma/{only_change().id}")
    ada = replace(UMA, user="ada", system_role="admin")
    assert changes.find(ada, f"uma/{only_change().id}") == only_change()
    assert [row["event"] for row in audit_items("acme") if row["user"] == "ada"] == ["look"]
