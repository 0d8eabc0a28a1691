"""A change is reviewed in words and lists; among many roles a form is searched without losing what was typed."""

import re
from dataclasses import replace

import pytest

from console.organization.review import FieldDifference, differences
from mcpist.caller import Role
from mcpist.people import directory
from tests.console.conftest import Browser

MODULES = ["files", "github", "rag"]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (["a", "b"], ["c", "b"], [FieldDifference("x", ["c"], ["a"], ["b"])]),
        (["a", "b"], ["b", "a"], [FieldDifference("x", [], [], ["b", "a"], is_reordered=True)]),
        (["a"], ["a"], []),
        ("Uma", "Ida", [FieldDifference("x", ["Ida"], ["Uma"])]),
        (False, True, [FieldDifference("x", ["yes"], ["no"])]),
        (None, {"name": "Ida", "roles": ["a"], "allow": []}, None),
        ({"b": "2", "a": "1"}, {"a": "1", "b": "2"}, []),
    ],
    ids=str,
)
def test_a_difference_is_what_is_added_and_removed(
    before: object, after: object, expected: list[FieldDifference] | None
) -> None:
    new = [FieldDifference("x.name", ["Ida"], []), FieldDifference("x.roles", ["a"], [], [])]
    assert list(differences("x", before, after)) == (new if expected is None else expected)


def test_a_review_says_in_words_what_comes_and_goes_and_for_whom(ada: Browser) -> None:
    form = [("action", "update"), ("id", "members"), *(("modules", name) for name in MODULES)]
    page = ada.post("/roles?id=members", [*form, ("deny", "github.get_me")])["body"]
    assert "<del>- notion</del>" in page
    assert "<ins>+ github.get_me</ins>" in page
    assert "Stays (3):" in page
    assert "Users (" in page
    assert "Roles (1): members" in page
    assert "u{0A}" not in page
    assert "[&#34;" not in page


def test_among_many_roles_some_are_found_and_what_was_typed_stays(ada: Browser) -> None:
    many = {f"role{number:03}": Role(f"role{number:03}") for number in range(60)}
    directory.change("acme", lambda before: replace(before, roles=before.roles | many))
    page = ada.get("/users?id=uma")["body"]
    assert len(re.findall('type="checkbox" name="roles"', page)) <= 21
    assert 'name="roles" value="members" checked' in page
    form = [("action", "update"), ("id", "uma"), ("name", "Uma the typed"), ("sub", "uma"), ("boxes", "roles")]
    found = ada.post("/users?id=uma", [*form, ("roles", "role001"), ("find", "role05"), ("search", "roles")])
    assert found["statusCode"] == 200
    assert re.findall('name="roles" value="(.*?)"', found["body"]) == ["role001", *(f"role05{n}" for n in range(10))]
    assert re.findall('name="roles" value="(.*?)" checked', found["body"]) == ["role001"]
    assert 'value="Uma the typed"' in found["body"]
