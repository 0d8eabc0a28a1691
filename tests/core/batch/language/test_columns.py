"""The columns that references name, before anything runs."""

import pytest

from mcpist.batch.language.columns import Source, check_element, check_reference
from mcpist.batch.language.references import find_references
from mcpist.errors import UnresolvedReference
from mcpist.render.shows import shows

SHOWS = shows("id", "user.login as author")
ROWS = shows("id", "user.login as author", rows="issues")


@pytest.mark.parametrize("text", ["a", "a.items[0].id", "a.raw[0].x", "a[0].x", "a.elements[*].status", "a.file"])
def test_the_fields_of_a_step_with_each_pass_the_plan(text: str) -> None:
    (reference,) = find_references("${" + text + "}")
    check_reference(reference, Source(SHOWS, is_list=True, is_map=True))


def test_a_path_past_the_list_of_a_step_with_each_is_refused() -> None:
    (reference,) = find_references("${a.results}")
    with pytest.raises(UnresolvedReference) as refused:
        check_reference(reference, Source(SHOWS, is_list=True, is_map=True))
    assert refused.value.details["problem"] == "a runs for each element, so its JSON is a list"
    assert refused.value.details["known"] == "Write a.items, a.raw[0].results or a.elements[0].status."


@pytest.mark.parametrize("text", ["a", "a.items", "a.items[0]", "a.items[0].id", "a.items[*].author", "a.x", "a.raw.x"])
def test_a_reference_that_may_resolve_passes_the_plan(text: str) -> None:
    (reference,) = find_references({"x": "${" + text + "}"})
    check_reference(reference, Source(SHOWS, is_list=True))


@pytest.mark.parametrize(
    ("text", "problem", "known"),
    [
        ("a.items[0].autor", "a shows no column autor", "Columns: author and 1 more."),
        ("a.items[*].zzz", "a shows no column zzz", "Columns: id, author. In its JSON perhaps: a.raw[*].zzz."),
        ("a.items.id", "items is a list", "Write a.items[0].id."),
    ],
)
def test_a_column_that_is_not_shown_is_refused_at_plan_time(text: str, problem: str, known: str) -> None:
    (reference,) = find_references({"x": "${" + text + "}"})
    with pytest.raises(UnresolvedReference) as refused:
        check_reference(reference, Source(SHOWS, is_list=True))
    assert (refused.value.details["problem"], refused.value.details["known"]) == (problem, known)


@pytest.mark.parametrize(
    ("source", "text", "place"),
    [
        (Source(SHOWS), "a.items[0].user", "a.raw.user.login"),
        (Source(SHOWS, is_list=True), "a.items[3].user", "a.raw[3].user.login"),
        (Source(ROWS, is_list=True), "a.items[*].user", "a.raw.issues[*].user.login"),
        (Source(ROWS, is_list=True, is_map=True), "a.items[0].user", "a.raw[0].issues[0].user.login"),
        (
            Source(SHOWS, is_list=True, related=lambda: [shows("x"), shows("owner.login as owner")]),
            "a.items[0].owner",
            "a.raw[0].owner.login",
        ),
    ],
)
def test_a_field_that_is_no_column_is_looked_for_in_the_paths_of_columns(source: Source, text: str, place: str) -> None:
    (reference,) = find_references({"x": "${" + text + "}"})
    with pytest.raises(UnresolvedReference) as refused:
        check_reference(reference, source)
    assert refused.value.details["known"].endswith(f" In its JSON perhaps: {place}.")


def test_a_field_of_an_element_is_looked_for_in_the_json_of_the_list() -> None:
    (reference,) = find_references({"x": "${each.user}"})
    with pytest.raises(UnresolvedReference) as refused:
        check_element(reference, Source(ROWS, is_list=True), "find")
    assert refused.value.details["known"].endswith(" In its JSON perhaps: find.raw.issues[*].user.login.")
