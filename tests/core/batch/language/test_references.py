from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpist.batch.language.references import (
    EachElement,
    NoResult,
    Reference,
    StepResult,
    escape,
    find_references,
    resolve,
    rewrite,
)
from mcpist.errors import PayloadTooLarge, UnresolvedReference
from mcpist.render.shows import DOWNLOADED, shows
from tests.faults import for_each

SHOWS = shows("id", "user.name as author", rows="results")
RAW = {
    "results": [{"id": 1, "user": {"name": "uma"}}, {"id": 2, "user": {"name": "ada"}}],
    "items": ["vendor's own"],
    "next": None,
    "text": "${b.raw}",
    "total-count": 2,
    "it": {"s": "a"},
}
FILE = {"path": "files/acme/1", "sha256": "1", "size_bytes": 9}
RESULTS = {
    "a": StepResult(RAW, SHOWS, lambda: FILE),
    "list": StepResult([[1, 2], [3]], shows("x"), lambda: FILE),
}


def resolved(params: Any) -> Any:
    return resolve(params, RESULTS.__getitem__)


def refusal(params: Any) -> UnresolvedReference:
    with pytest.raises(UnresolvedReference) as refused:
        resolved(params)
    return refused.value


@for_each(
    ("text", "value"),
    [
        ("a", RAW),
        ("a.items", [{"id": 1, "author": "uma"}, {"id": 2, "author": "ada"}]),
        ("a.items[1]", {"id": 2, "author": "ada"}),
        ("a.items[0].author", "uma"),
        ("a.items[*].id", [1, 2]),
        ("a.items[*]", [{"id": 1, "author": "uma"}, {"id": 2, "author": "ada"}]),
        ("a.raw", RAW),
        ("a.raw.items[0]", "vendor's own"),
        ("a.raw.results[0].user.name", "uma"),
        ("a.results[1].id", 2),
        ("a.results[*].user.name", ["uma", "ada"]),
        ("a.next", None),
        ("a.total-count", 2),
        (" a.it.s ", "a"),
        ("list[0][1]", 2),
        ("list[*][0]", [1, 3]),
        ("a.file", FILE),
        ("a.file.path", "files/acme/1"),
    ],
)
def test_a_string_that_is_one_reference_becomes_the_value(text: str, value: Any) -> None:
    assert resolved({"x": "${" + text + "}"}) == {"x": value}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Hi ${a.items[0].author}!", "Hi uma!"),
        ("${a.items[0].id}${a.items[1].id}", "12"),
        (" ${a.items[0].id}", " 1"),
        ("n=${a.total-count}, ids=${a.items[*].id}", "n=2, ids=[1, 2]"),
        ("$${a.items}", "${a.items}"),
        ("$${", "${"),
        ("$${a} and ${a.it.s}", "${a} and a"),
        ("$$${a}", "$${a}"),
        ("costs $5 {a} $a $", "costs $5 {a} $a $"),
    ],
)
def test_inside_a_longer_string_a_reference_becomes_text(text: str, value: str) -> None:
    assert resolved({"x": text}) == {"x": value}


def test_the_file_of_a_download_is_the_file_that_was_stored() -> None:
    stored = {"path": "files/acme/uma/a", "sha256": "a"}
    source = StepResult({"file": stored, "preview": "log"}, DOWNLOADED, lambda: FILE)
    assert resolve("${logs.file}", {"logs": source}.__getitem__) == stored
    assert resolve("${logs.items[0].file.sha256}", {"logs": source}.__getitem__) == "a"
    each = StepResult([{"file": stored}], DOWNLOADED, lambda: FILE, [{"status": "succeeded"}])
    assert resolve("${logs.file}", {"logs": each}.__getitem__) == FILE


def test_null_inside_a_text_is_an_error_that_names_the_reference() -> None:
    refused = refusal({"title": "Next: ${a.next}!"})
    assert str(refused) == "params.title: ${a.next} does not resolve: it is null, inside a text."
    assert refused.text().hint == 'Correct the reference. Test it first: "when":{"exists":"${...}"}.'
    assert resolved({"ids": "all: ${list.raw}", "title": "${a.next}"}) == {"ids": "all: [[1, 2], [3]]", "title": None}


def test_a_declared_column_that_the_service_left_out_is_null() -> None:
    source = StepResult({"results": [{"id": 1}]}, SHOWS, lambda: FILE)
    assert resolve({"author": "${a.items[0].author}"}, lambda _: source) == {"author": None}


FAN = StepResult(
    [RAW, None, {"results": []}, {"results": [{"id": 3}]}],
    SHOWS,
    lambda: FILE,
    elements=[{"status": "succeeded"}, {"status": "failed"}, {"status": "succeeded"}, {"status": "succeeded"}],
)
SOURCES = RESULTS | {
    "fan": FAN,
    "none": NoResult(),
    "each": EachElement({"id": 7, "raw": 1, "items": [2], "t": "${a}"}),
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("fan.items[*].id", [1, 2, 3]),
        ("fan.items[2]", {"id": 3, "author": None}),
        ("fan.elements[*].status", ["succeeded", "failed", "succeeded", "succeeded"]),
        ("fan.elements[1]", {"status": "failed"}),
        ("fan.raw[3].results[0].id", 3),
        ("fan[1]", None),
        ("each", {"id": 7, "raw": 1, "items": [2], "t": "${a}"}),
        ("each.id", 7),
        ("each.raw", 1),
        ("each.items[0]", 2),
        ("each.t", "${a}"),
    ],
)
def test_a_step_with_each_is_the_list_of_its_elements_and_each_is_the_element(text: str, value: Any) -> None:
    assert resolve({"x": "${" + text + "}"}, SOURCES.__getitem__) == {"x": value}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("none", None),
        ("none.raw", None),
        ("none.items", []),
        ("none.items[*].id", []),
        ("none.items[0].id", None),
        ("none.x.y", None),
        ("none.file.path", None),
        ("none.elements", []),
        ("none.elements[*].status", []),
    ],
)
def test_a_step_that_did_not_succeed_is_null_and_has_no_rows(text: str, value: Any) -> None:
    assert resolve("${" + text + "}", SOURCES.__getitem__) == value


def test_references_are_found_at_any_depth() -> None:
    assert resolved({"x": [{"y": ["${a.it.s}", 1]}], "z": True}) == {"x": [{"y": ["a", 1]}], "z": True}


def test_a_result_that_looks_like_a_reference_stays_text() -> None:
    assert resolved({"x": "${a.text}", "y": "so: ${a.text}"}) == {"x": "${b.raw}", "y": "so: ${b.raw}"}


@given(st.text())
def test_escaped_text_stays_as_it_is(text: str) -> None:
    assert resolved({"x": text.replace("${", "$${")}) == {"x": text} or "$${" in text


@pytest.mark.parametrize("bad", ["${}", "${a.}", "${a[x]}", "${a[-1]}", "${1a}", "${a..b}", "${a b}", "${a[0}", "${a"])
def test_a_malformed_reference_is_refused(bad: str) -> None:
    for text in (bad, f"so {bad}"):
        assert refusal({"x": [text]}).details["field"] == "params.x.0"
        with pytest.raises(UnresolvedReference, match="not of this form"):
            find_references({"x": text})


@pytest.mark.parametrize("bad", ["${{ secrets.A }}", "${a{b}}", "${a[" + "9" * 5000 + "]}"])
def test_text_that_looks_like_a_reference_must_be_escaped(bad: str) -> None:
    hint = refusal({"x": bad}).text().hint
    assert hint == "Correct the reference. Write ${step.path[0].field} with the id of a step, or $${ for a plain ${."


@pytest.mark.parametrize(
    ("text", "problem", "known"),
    [
        ("a.nothing", "there is no nothing", "There: results, items, next, text, total-count, it."),
        ("a.results[2].id", "there is no [2]", "There: a list of 2."),
        ("a.results.id", "there is no id", "There: a list of 2."),
        ("a.next.id", "there is no id", "There: null."),
        ("a.it.s.t", "there is no t", "There: a text."),
        ("a.it.s[0]", "there is no [0]", "There: a text."),
        ("a.it[0]", "there is no [0]", "There: s."),
        ("a.it[*]", "there is no [*]", "There: s."),
        ("list[0].x", "there is no x", "There: a list of 2."),
    ],
)
def test_a_reference_that_does_not_resolve_says_what_the_value_contains(text: str, problem: str, known: str) -> None:
    error = refusal({"x": "${" + text + "}"})
    assert error.text().message == f"params.x: ${{{text}}} does not resolve: {problem}."
    assert error.text().hint == f"Correct the reference. {known}"


def test_references_are_listed_with_their_field() -> None:
    found = find_references({"x": ["${a.items[0].id}", "$${b}"], "y": {"z": "to ${c} and ${d.e}"}, "n": 1})
    assert found == [
        Reference("a.items[0].id", "params.x.0", "a", ("items", 0, "id")),
        Reference("c", "params.y.z", "c", ()),
        Reference("d.e", "params.y.z", "d", ("e",)),
    ]


@pytest.mark.parametrize("text", ["${big.raw.text}", "x ${big.raw.text}"])
def test_references_that_grow_too_large_are_refused_before_they_are_built(text: str) -> None:
    source = StepResult({"text": "x" * 100_000}, shows("text"), dict)
    values = [text] * 50
    assert len(resolve(values, lambda _: source)) == 50
    with pytest.raises(PayloadTooLarge) as error:
        resolve([*values, *values, *values], lambda _: source)
    assert error.value.details["field"] == "params.100"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("${param.a}${param.b}", ("$", "{find.secret}")),
        ("${param.a}{find.secret}", ("$", "")),
        ("$${param.b} ${param.a}${find.x}", ("$", "")),
        ("${param.a}${param.b}find.secret}", ("$", "{")),
        ("${param.a}${param.b}", ("$${x", "}${find.secret}")),
    ],
)
def test_values_of_parameters_make_no_reference_together(text: str, values: tuple[str, str]) -> None:
    given_values = dict(zip(("a", "b"), values, strict=True))

    def change(reference: Reference) -> Any:
        return (
            escape(given_values[str(reference.keys[0])]) if reference.step == "param" else "${" + reference.text + "}"
        )

    try:
        made = rewrite(text, change)
    except UnresolvedReference:
        return
    own = [one for one in find_references(text) if one.step != "param"]
    assert [one.text for one in find_references(made)] == [one.text for one in own]


def test_a_text_that_its_parameters_make_too_large_is_refused_before_it_is_built() -> None:
    with pytest.raises(PayloadTooLarge):
        rewrite("${param.a}" * 9_000, lambda _: "x" * 100_000)


def test_a_result_in_front_of_a_path_is_left_out_unless_the_service_has_one() -> None:
    assert resolved({"x": "${a.result.items[1].author}", "y": "${a.result.raw.it.s}"}) == {"x": "ada", "y": "a"}
    own = StepResult({"result": {"items": ["the service's"]}}, shows("x"), lambda: FILE)
    assert resolve("${a.result.items[0]}", {"a": own}.__getitem__) == "the service's"
    assert resolve("${a.result.items}", {"a": NoResult()}.__getitem__) == []
    assert "there is no result" in str(refusal("${a.result.other}"))
