"""A call that is shown before it happens: its request, its target now, the difference, and what would undo it."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from mcpist.caller import Policies, Role
from mcpist.errors import (
    AuthorizationError,
    ConfirmationPending,
    InvalidArguments,
    PolicyRefused,
    PolicyUnasked,
    UpstreamUnavailable,
)
from mcpist.running import approvals
from mcpist.running.confirmation import Agreement
from mcpist.running.gate import ToolUse, admit
from mcpist.running.preview import preview
from mcpist.tools.access.permissions import Permissions
from tests.audit_items import audit_items
from tests.core.running.tracker import Tracker, tracking
from tests.core.sample import caller

UMA = caller(Role("everything", modules=("tracker",), allow=("*",), destructive=True))


@pytest.fixture
def tracker(aws: list[str]) -> Iterator[Tracker]:  # noqa: ARG001 - the tables
    with tracking() as service:
        service.items["7"] = {"id": "7", "title": "old", "state": "open", "note": None}
        yield service


def shown(tracker: Tracker, tool: str, **arguments: object) -> dict[str, object]:
    found = preview(Permissions(UMA, tracker.catalogue), ToolUse("tracker", tool, arguments, "r1"), 20)
    assert tracker.written == []
    return found


def test_an_update_shows_its_request_and_each_field_now_and_then(tracker: Tracker) -> None:
    found = shown(tracker, "update_item", item_id="7", title="new", state="open")
    assert found["request"] == {
        "method": "PATCH",
        "url": f"{tracker.url}/items/7",
        "body": {"title": "new", "state": "open"},
    }
    assert found["now"] == {"id": "7", "title": "old", "state": "open", "note": None}
    assert found["difference"] == {"title": {"now": "old", "then": "new"}}
    former = {"item_id": "7", "title": "old", "state": "open"}
    assert found["undo"] == {"possible": True, "by": ({"tool": "tracker.update_item", "params": former},)}
    assert len(tracker.received) == 1


def test_something_new_and_something_destroyed_show_all_their_fields(tracker: Tracker) -> None:
    assert shown(tracker, "create_item", title="made")["difference"] == {"title": {"now": None, "then": "made"}}
    gone = shown(tracker, "delete_item", item_id="7")
    assert (gone["now"], gone["effect"]) == ({"id": "7", "title": "old", "state": "open", "note": None}, "destroys")


def test_a_tool_that_reads_first_shows_the_write_that_comes_of_it(tracker: Tracker) -> None:
    found = shown(tracker, "rename_by_suffix", item_id="7", suffix="er")
    assert found["request"] == {"method": "PATCH", "url": f"{tracker.url}/items/7", "body": {"title": "older"}}


def test_the_last_request_of_a_tool_that_writes_is_not_made_though_it_is_a_get(tracker: Tracker) -> None:
    request = {"method": "GET", "url": f"{tracker.url}/items/7/visit"}
    assert shown(tracker, "visit", item_id="7")["request"] == request
    assert tracker.received == []
    assert shown(tracker, "visit_known", item_id="7")["request"] == request
    assert [one.path for one in tracker.received] == ["/items/7"]


def test_who_is_told_and_what_it_costs_is_shown_where_the_service_says_it(tracker: Tracker) -> None:
    found = shown(tracker, "send", item_id="7")
    assert (found["tells"], found["costs"]) == ({"item": "7"}, "a cent")
    assert not {"tells", "costs", "policy"} & shown(tracker, "update_item", item_id="7", title="new").keys()


def test_what_cannot_be_undone_says_why(tracker: Tracker) -> None:
    assert shown(tracker, "send", item_id="7")["undo"] == {"possible": False, "reason": "a message that was sent"}
    emptied = shown(tracker, "update_item", item_id="7", note="n")["undo"]
    assert emptied == {"possible": False, "reason": "note was empty and cannot be emptied"}


def test_a_preview_is_refused_as_the_call_would_be_and_leaves_a_row(tracker: Tracker) -> None:
    shown(tracker, "update_item", item_id="7", title="new")
    assert ("tracker.update_item", "previewed") in {(row["tool"], row["outcome"]) for row in audit_items("acme")}
    with pytest.raises(InvalidArguments):
        shown(tracker, "update_item", title="new")
    with pytest.raises(AuthorizationError):
        preview(Permissions(caller(Role("empty")), tracker.catalogue), ToolUse("tracker", "send", {}, "r1"), 20)


def test_policies_decide_what_is_shown_and_their_verdict_is_shown(tracker: Tracker) -> None:
    def shown_by(*rules: str) -> dict[str, object]:
        everything = '@id("base") permit (principal, action, resource);'
        person = replace(UMA, policies=Policies(1, "\n".join((everything, *rules))))
        use = ToolUse("tracker", "update_item", {"item_id": "7", "title": "new"}, "r1")
        return preview(Permissions(person, tracker.catalogue), use, 20)

    assert shown_by()["policy"] == "permit: base"
    asked = '@id("look") @ask forbid (principal, action == Action::"tracker.update_item", resource);'
    assert shown_by(asked)["policy"] == "ask: look"
    for tool in ("update_item", "get_item"):  # the target is read by a tool, too
        with pytest.raises(PolicyRefused):
            shown_by(f'@id("no") forbid (principal, action == Action::"tracker.{tool}", resource);')
    assert tracker.written == []


@pytest.mark.parametrize("word", ["@ask", "@approve"])
def test_the_read_of_a_target_asks_nobody(tracker: Tracker, word: str) -> None:
    """Its question could be answered by no request: the call that is previewed answers another one."""
    everything = '@id("base") permit (principal, action, resource);'
    rule = f'@id("look") {word} forbid (principal, action == Action::"tracker.get_item", resource);'
    person = replace(UMA, policies=Policies(1, f"{everything}\n{rule}"))
    use = ToolUse("tracker", "update_item", {"item_id": "7", "title": "new"}, "r1")
    with pytest.raises(PolicyUnasked):
        preview(Permissions(person, tracker.catalogue), use, 20)
    assert approvals.list_own(person) == []


def test_the_question_before_a_call_shows_its_target_as_it_is_now(tracker: Tracker) -> None:
    use = ToolUse("tracker", "delete_item", {"item_id": "7"}, "r1")
    with pytest.raises(ConfirmationPending) as asked:
        admit(Permissions(UMA, tracker.catalogue), use, Agreement(can_ask=True))
    assert asked.value.uses == ('tracker.delete_item {"item_id":"7"} (target: {"title":"old","state":"open"})',)
    tracker.items.clear()
    with pytest.raises(ConfirmationPending) as asked:
        admit(Permissions(UMA, tracker.catalogue), use, Agreement(can_ask=True))
    assert asked.value.uses == ('tracker.delete_item {"item_id":"7"}',), "an absent target is not guessed"


def test_an_answer_of_another_shape_is_the_services_fault(tracker: Tracker) -> None:
    tracker.items["7"] = {"id": "7", "state": "open", "note": None}
    with pytest.raises(UpstreamUnavailable):
        shown(tracker, "rename_by_suffix", item_id="7", suffix="er")
