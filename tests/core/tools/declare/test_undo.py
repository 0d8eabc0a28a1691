"""What undoes a write, as values."""

from dataclasses import replace

import pytest

from mcpist.errors import NotUndoable
from mcpist.render.shows import DONE, shows
from mcpist.tools.declare.call import Call
from mcpist.tools.declare.module import Module
from mcpist.tools.declare.undo import (
    ToolCall,
    ToolChange,
    Undo,
    adds_each,
    compares,
    restores,
    row_where,
    toggles,
    undone_by,
    unless,
)

UPDATE = restores("get", title="title", owner="owner.login", note=lambda item: item["note"] or "")
BEFORE = {"id": 7, "title": "old", "owner": None, "note": None}


def touch(number: int) -> Call:
    """Touch."""
    return Call("POST", f"/{number}")


def test_an_update_is_undone_by_the_same_tool_with_the_fields_that_it_changed_as_they_were() -> None:
    change = ToolChange(
        "update", {"id": 7, "title": "new", "note": "n", "owner": None}, {"id": 7, "title": "new"}, BEFORE
    )
    assert list(UPDATE.calls(change)) == [ToolCall("update", {"id": 7, "title": "old", "note": ""})]
    assert UPDATE.target_of(change, ["id", "page"]) == {"id": 7}


def test_a_field_that_was_empty_and_cannot_be_emptied_is_named_instead_of_left_as_it_is() -> None:
    change = ToolChange("update", {"id": 7, "owner": "ada"}, {}, BEFORE)
    with pytest.raises(NotUndoable, match="owner was empty"):
        list(UPDATE.calls(change))


def test_the_fields_after_a_write_are_those_of_its_answer_or_without_one_of_its_shape_the_arguments() -> None:
    change = ToolChange("update", {"id": 7, "title": " new "}, {"id": 7, "title": "new"}, BEFORE)
    assert UPDATE.written_by(change) == {"title": "new"}
    assert restores("get", echoes=False, title="title").written_by(change) == {"title": " new "}


def test_a_creation_is_undone_by_a_tool_that_takes_its_id_from_the_answer() -> None:
    undo = undone_by("delete(list, id=answer.id)", read="find", select=row_where("id", "answer.id"), creates=True)
    change = ToolChange("create", {"list": "a", "title": "t"}, {"id": 9})
    assert list(undo.calls(change)) == [ToolCall("delete", {"list": "a", "id": 9})]
    assert undo.target_of(change, ["list", "id"]) == {"list": "a", "id": 9}
    assert undo.fields_of([{"id": 8}], change) == {}


def test_a_call_as_text_takes_arguments_paths_and_json_and_its_read_may_have_other_arguments() -> None:
    undo = undone_by(
        'close(id, force=true, why="undone")', read='find(page=arguments.place, sort="new")', fields="title"
    )
    change = ToolChange("open", {"id": 7, "place": 3, "sort": "old"}, {"title": "t"}, [])
    assert list(undo.calls(change)) == [ToolCall("close", {"id": 7, "force": True, "why": "undone"})]
    assert undo.target_of(change, ["page", "sort", "fetch_all"]) == {"page": 3, "sort": "new", "fetch_all": True}
    assert undo.written_by(change) == {"title": "t"}


def test_what_was_there_already_is_not_taken_off_again() -> None:
    undo = toggles("take(name)", read="find", has=lambda json, change: change.arguments["name"] in json, adds=True)
    change = ToolChange("put", {"name": "a"}, {}, ["b"])
    assert list(undo.calls(change)) == [ToolCall("take", {"name": "a"})]
    assert list(undo.calls(replace(change, before=["a"]))) == []
    assert undo.fields_of([], change) != undo.written_by(change) == undo.fields_of(["a"], change)


def test_of_several_that_were_added_only_the_new_ones_are_taken_off() -> None:
    undo = adds_each("take(id)", read="find", argument="names", item="name", held=lambda json: json["held"])
    change = ToolChange("put", {"id": 7, "names": ["a", "b", "c"]}, {}, {"held": ["b"]})
    assert list(undo.calls(change)) == [ToolCall("take", {"id": 7, "name": name}) for name in ("a", "c")]
    assert undo.fields_of({"held": ["c", "a", "x"]}, change) == {"names": ["a", "c"]}
    assert undo.written_by(change) == {"names": ["a", "b", "c"]}


def test_a_version_that_is_not_where_it_is_compared_is_no_equal_version() -> None:
    undo = Undo(calls=lambda _: [], read="get", state=compares(version="version.number"))
    change = ToolChange("put", {"id": 7}, {"version": {"number": 2}})
    assert undo.written_by(change) == {"version": 2}
    assert undo.fields_of(None, change) == {}
    with pytest.raises(LookupError, match="version"):
        undo.fields_of({"version": {}}, change)


def test_functions_say_what_is_compared_where_fields_do_not() -> None:
    undo = undone_by("drop(id)", read="get", state=lambda json, _: {"n": len(json)}, after=lambda _: {"n": 1})
    change = ToolChange("put", {"id": 7, "note": None}, {})
    assert (undo.fields_of([1, 2], change), undo.written_by(change)) == ({"n": 2}, {"n": 1})
    assert change.given("id", "note") == {"id": 7}


def test_an_undo_is_refused_for_the_changes_that_it_excepts() -> None:
    undo = unless(lambda change: change.arguments["loud"], "others have heard it", undone_by("hush(id)", read="find"))
    assert list(undo.calls(ToolChange("say", {"id": 1, "loud": False})))
    with pytest.raises(NotUndoable, match="others have heard it"):
        list(undo.calls(ToolChange("say", {"id": 1, "loud": True})))


@pytest.mark.parametrize("marks", [{"undo": UPDATE, "irreversible": "a message that was sent"}])
def test_a_tool_that_says_both_is_refused_at_load_and_one_that_reads_says_neither(marks: dict[str, object]) -> None:
    module = Module("marks", "x", api_version="1")
    with pytest.raises(ValueError, match=r"marks\.touch is declared with an undo"):
        module.writes(shows("id"), **marks)(touch)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"marks\.touch is declared with an undo"):
        module.reads(DONE, undo=UPDATE)(touch)
