"""The undo of a batch: its plan, and that it happens once, in the right order, and loses nothing of others."""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from random import Random

import pytest

from mcpist.aws.table import ledger_table
from mcpist.batch.execution.submission import prepare
from mcpist.batch.execution.undo import list_changes, plan_undo, undo_failed
from mcpist.batch.language.graph import Graph
from mcpist.batch.ledger import ledger, transitions
from mcpist.batch.options import DEFAULT_OPTIONS, BatchOptions
from mcpist.batch_id import undo_id
from mcpist.caller import Policies
from mcpist.errors import BatchNotFound, InvalidRequest, McpistError, NothingToUndo, NotUndoable
from mcpist.running import changes
from mcpist.running.changes import ChangeContent
from mcpist.tools.access.permissions import Permissions
from tests.core.batch.execution.undo_story import BATCH, UMA, Story, items, step
from tests.core.running.tracker import Tracker, tracking
from tests.kept_changes import keep


@pytest.fixture
def tracker(aws: list[str]) -> Iterator[Tracker]:  # noqa: ARG001 - the tables
    with tracking() as service:
        yield service


def test_the_changes_of_a_batch_are_read_from_its_own_time(tracker: Tracker) -> None:
    Story(tracker).keep_graph([{"id": "a", "module": "tracker", "tool": "create_item", "params": {"title": "x"}}])
    content = ChangeContent(tool="create_item", arguments={})
    made = keep(UMA, "tracker.create_item", content, batch=BATCH)
    others = {f"c_{int((time.time() - 3_600) * 1000):011x}{number:024x}" for number in range(3)}
    (item,) = ledger_table().query("acme#changes#uma", made)
    for id_ in others:  # the same batch's, so that a wider range would show them
        kept = {name: value for name, value in item.items() if name not in {"pk", "sk"}}
        ledger_table().set("acme#changes#uma", id_, {**kept, "id": id_})
    assert {one.id for one in list_changes(UMA, batch=BATCH)} == {made}
    assert {one.id for one in list_changes(UMA, batch="b_" + "0" * 16)} == set()
    assert {one.id for one in list_changes(UMA)} == {made, *others}


def test_a_batch_is_undone_in_reverse_order_and_in_parallel_where_its_graph_allows(tracker: Tracker) -> None:
    items(tracker, 3)
    before = {name: dict(item) for name, item in tracker.items.items()}
    commands = [
        step("a", "update_item", item_id="i0", title="${x}".replace("${", "$${")),
        step("b", "update_item", "a", item_id="i1", title="n1"),
        step("c", "update_item", "a", item_id="i2", title="n2"),
        step("d", "create_item", "b", "c", title="made"),
    ]
    story = Story(tracker)
    story.keep_graph(commands)
    assert len(story.run(commands)) == 4
    assert tracker.items["i0"]["title"] == "${x}"
    undo = plan_undo(UMA, BATCH)
    undone = story.plan(list(undo.commands))
    by_tool = {s.params.get("item_id", ""): i for i, s in enumerate(undone.steps)}
    needs = Graph(undone.graph.needs).ancestors
    made = next(i for i, s in enumerate(undone.steps) if s.tool == "delete_item")
    assert undone.graph.needs[made] == frozenset()
    assert needs[by_tool["i1"]] == needs[by_tool["i2"]] == {made}
    assert needs[by_tool["i0"]] == {made, by_tool["i1"], by_tool["i2"]}
    story.run(list(undo.commands), "b_undo")
    assert tracker.items == before
    with pytest.raises(NothingToUndo, match="undone by b_undo"):
        plan_undo(UMA, BATCH)


def test_changes_of_one_target_are_undone_the_newest_first_whatever_batch_they_are_of(tracker: Tracker) -> None:
    items(tracker, 1)
    story = Story(tracker)
    for number in range(3):
        story.run([step("a", "update_item", item_id="i0", title=f"v{number}")], "")
    undo = plan_undo(UMA, "2026-01-01T00:00:00Z")
    assert story.plan(list(undo.commands)).graph.depth == 3
    story.run(list(undo.commands), "b_undo")
    assert story.titles() == [("t0", "open")]


def test_what_cannot_be_undone_is_named_and_stays(tracker: Tracker) -> None:
    items(tracker, 1)
    story = Story(tracker)
    story.run(
        [step("a", "update_item", item_id="i0", title="v"), step("b", "send", "a", item_id="i0", text="x")], BATCH
    )
    undo = plan_undo(UMA, BATCH)
    assert [(one["tool"], one["reason"]) for one in undo.left] == [("tracker.send", "a message that was sent")]
    assert [(one["was"], one["became"]) for one in undo.changes] == [({"title": "t0"}, {"title": "v"})]


def test_more_changes_than_a_batch_has_steps_are_undone_by_several(tracker: Tracker) -> None:
    items(tracker, 1)
    for number in range(101):
        call = "update_item", {"item_id": f"i{number}", "title": "t"}
        content = ChangeContent(tool="update_item", arguments={}, calls=(call,), nonce=str(number))
        keep(UMA, "tracker.update_item", content, batch=BATCH)
    undo = plan_undo(UMA, BATCH)
    assert (len(undo.commands), [one["reason"][:31] for one in undo.left]) == (100, ["a batch has at most 100 steps: "])
    assert len(Story(tracker).plan(list(undo.commands)).steps) == 100


@pytest.mark.parametrize("wrong", ["yesterday", "2026-01-01", "c_zz"])
def test_what_names_no_change_is_refused(tracker: Tracker, wrong: str) -> None:  # noqa: ARG001 - the tables
    with pytest.raises((InvalidRequest, McpistError)):
        plan_undo(UMA, wrong)


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_undone_twice_and_nothing_of_others_is_lost_whatever_is_killed(tracker: Tracker, seed: int) -> None:
    """Undo is repeated by kills and by others at every point; each change is sent at most once."""
    random, story = Random(seed), Story(tracker)  # noqa: S311 - the same every time
    items(tracker, 6)
    commands = [
        step(
            f"s{n}",
            "update_item",
            *(f"s{m}" for m in range(n) if random.random() < 0.3),
            item_id=f"i{n}",
            title=f"n{n}",
        )
        for n in range(6)
    ]
    story.keep_graph(commands)
    story.run(commands)
    theirs = {f"i{n}" for n in range(6) if random.random() < 0.3}
    for name in theirs:
        tracker.items[name]["title"] = "theirs"
    tracker.written.clear()
    for attempt in range(4):
        with suppress(NothingToUndo):
            story.run(list(plan_undo(UMA, BATCH).commands), f"b_undo{attempt}", killed=0.4, random=random)
    assert len(tracker.written) == len(set(tracker.written))
    for name, item in tracker.items.items():
        assert item["title"] == ("theirs" if name in theirs else item["title"])
        assert item["title"] in {"theirs", f"n{name[1:]}", f"t{name[1:]}"}
    claimed = [record for record in changes.list_changes(UMA, batch=BATCH) if record.undone_by]
    assert len(tracker.written) <= len(claimed)


def test_a_failed_batch_is_taken_back_by_one_batch_however_often_that_is_begun(tracker: Tracker) -> None:
    items(tracker, 1)
    story, options = Story(tracker), BatchOptions(on_failure="undo")
    commands = [step("a", "update_item", item_id="i0", title="new"), step("b", "get_item", "a", item_id="none")]
    story.keep_graph(commands)
    story.run(commands)
    head = replace(ledger.get_header(f"acme#{BATCH}"), seq={0: 0, 1: 1}, outcome={0: "succeeded", 1: "failed"})
    assert not head.awaits_undo
    head = replace(head, options=options)
    relay = "arn:aws:states:us-east-1:123456789012:stateMachine:none-relay"
    undo_failed(head, story.permissions, relay)
    known = ledger.get_header(head.pk)
    assert ledger_table().delete(f"acme#{known.undone_by}", "batch")  # as if it was killed before the last item
    undo_failed(head, story.permissions, relay)
    made = ledger.get_header(f"acme#{known.undone_by}")
    transitions.settle(made.pk, 0, "succeeded")
    undo_failed(head, story.permissions, relay)
    (entry,) = ledger.get_entries(made.pk)
    assert (ledger.get_header(made.pk).done, entry.step.tool, entry.step.undoes[:2]) == (True, "update_item", "c_")
    assert replace(head, outcome={0: "cancelled", 1: "failed"}).awaits_undo is False
    assert not replace(head, undone_by=known.undone_by).awaits_undo


def test_nothing_is_taken_back_by_itself_where_a_policy_wants_somebody_asked(tracker: Tracker) -> None:
    items(tracker, 1)
    story, commands = Story(tracker), [step("a", "update_item", item_id="i0", title="new")]
    story.keep_graph(commands)
    story.run(commands)
    head = replace(
        ledger.get_header(f"acme#{BATCH}"), seq={0: 0}, outcome={0: "failed"}, options=BatchOptions(on_failure="undo")
    )
    base = '@id("base") permit (principal, action, resource);'
    rule = '@id("ask") @ask forbid (principal, action in Action::"writes", resource);'
    asked = Permissions(replace(UMA, policies=Policies(1, f"{base} {rule}")), tracker.catalogue)
    undo_failed(head, asked, "arn:aws:states:us-east-1:123456789012:stateMachine:none-relay")
    assert ledger.get_header(head.pk).undone_by == ""
    with pytest.raises(BatchNotFound):
        ledger.get_header(f"acme#{undo_id(BATCH)}")


def test_a_batch_that_must_be_undone_may_hold_nothing_irreversible(tracker: Tracker) -> None:
    with pytest.raises(NotUndoable, match="a message that was sent") as refused:
        prepare(
            Story(tracker).permissions,
            [step("say", "send", item_id="i0")],
            BatchOptions(on_failure="undo"),
            "r1",
        )
    assert refused.value.details["id"] == "say"


def test_a_dry_run_shows_what_each_write_would_change_of_a_list_the_first_with_their_number(tracker: Tracker) -> None:
    items(tracker, 2)
    commands = [
        {"id": "found", "module": "tracker", "tool": "get_item", "params": {"item_id": "i0"}},
        step("plain", "update_item", item_id="i1", title="new"),
        step("known", "update_item", item_id="${found.raw.id}", state="closed"),
        step("later", "update_item", item_id="${plain.raw.id}", state="closed"),
    ]
    submitted = prepare(Story(tracker).permissions, commands, DEFAULT_OPTIONS, "r1")
    shown = {
        one["id"]: one["calls"][0]["difference"]
        for one in submitted.describe(Story(tracker).permissions, 10)["previews"]
    }
    assert shown == {
        "plain": {"title": {"now": "t1", "then": "new"}},
        "known": {"state": {"now": "open", "then": "closed"}},
    }
    assert tracker.written == []


def test_the_question_about_a_batch_shows_the_same_differences_of_a_list_the_first_with_their_number(
    tracker: Tracker,
) -> None:
    items(tracker, 30)
    tracker.items["all"] = {"id": "all", "rows": [{"id": f"i{number}"} for number in range(30)]}
    permissions = Story(tracker).permissions
    commands = [
        {"id": "found", "module": "tracker", "tool": "get_item", "params": {"item_id": "all"}},
        step("plain", "delete_item", item_id="i1"),
        step("all", "delete_item", item_id="${each.id}") | {"each": "${found.raw.rows}"},
    ]
    plain, each = prepare(permissions, commands, DEFAULT_OPTIONS, "r1").describe_destruction(permissions, 10)
    assert plain.as_text() == (
        'line 2, plain: tracker.delete_item {"item_id":"i1"} (target: {"title":"t1","state":"open"})'
    )
    assert plain.as_dict()["difference"]["target"]["now"]["title"] == "t1"
    shown = each.as_dict()
    assert (shown["now"]["count"], len(shown["now"]["targets"]), len(shown["differences"])) == (30, 30, 20)
    assert [one["target"]["now"]["id"] for one in shown["differences"]] == [f"i{number}" for number in range(20)]
    assert each.as_text().count('"state":"open"') == 20
    assert tracker.written == []
