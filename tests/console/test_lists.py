"""Lists: sorted by their heads, kept in the address, and exported as far as the page may be seen."""

import csv
import io
import re
from typing import Any

import pytest

from mcpist.caller import Role, Subject
from mcpist.files import access
from mcpist.people import directory
from tests import members
from tests.console.conftest import Browser
from tests.faults import for_each

PEOPLE = {"p1": "zoe", "p2": "Bob", "p3": "=cmd()"}
OWN_LISTS = ("/tools", "/files", "/batches", "/changes", "/approvals", "/automations")
ADMINISTRATORS_LISTS = ("/users", "/roles", "/modules", "/batches?of=everybody")


@pytest.fixture
def people(ada: Browser) -> Browser:
    """An administrator in whose organization these people are."""
    members.put_role("acme", Role("large", modules=("rag", "files", "github")))
    for user, name in PEOPLE.items():
        members.put_user("acme", user, name=name, subject=Subject(ada.login.issuer, user), roles=["large"])
    return ada


def rows_of(answer: dict[str, Any]) -> list[dict[str, str]]:
    assert answer["headers"]["content-type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(answer["body"], newline="")))


def shown(page: dict[str, Any]) -> list[str]:
    """Return the ids of these people in the order of a page."""
    return [user for user in re.findall(r"<code>(\w+)</code>", page["body"]) if user in PEOPLE]


def test_a_head_sorts_and_a_second_click_turns_the_order(people: Browser) -> None:
    link = re.search(r'href="(/users\?q=p[^"]*sort=name[^"]*)"', people.get("/users?q=p")["body"])
    assert link
    up = people.get(link[1].replace("&amp;", "&"))
    assert shown(up) == ["p3", "p2", "p1"]
    assert 'aria-sort="ascending"' in up["body"]
    assert '<input type="hidden" name="sort" value="name">' in up["body"], "a search keeps the order"
    turned = re.search(r'href="(/users\?[^"]*sort=-name[^"]*)"', up["body"])
    assert turned
    assert shown(people.get(turned[1].replace("&amp;", "&"))) == ["p1", "p2", "p3"]


def test_numbers_are_sorted_as_numbers(people: Browser) -> None:
    for number in range(11):
        members.put_role("acme", Role(f"role{number}", modules=tuple(f"m{one}" for one in range(number))))
    names = re.findall(r"<a href=\"/roles\?[^\"]*id=(role\d+)", people.get("/roles?q=role&sort=-modules")["body"])
    assert names[:3] == ["role10", "role9", "role8"]


def test_an_export_has_what_the_page_shows_and_no_formula(people: Browser) -> None:
    rows = rows_of(people.get("/users?q=p&sort=-name&format=csv"))
    assert [row["id"] for row in rows if row["id"] in PEOPLE] == ["p1", "p2", "p3"]
    assert rows[-1]["name"] == "'=cmd()"
    assert rows_of(people.get("/roles?q=large&format=csv"))[0]["modules"] == "rag files github"


@for_each("path", OWN_LISTS)
def test_everybody_exports_the_own_lists(uma: Browser, path: object) -> None:
    rows_of(uma.get(f"{path}?format=csv"))


@for_each("path", ADMINISTRATORS_LISTS)
def test_lists_of_administrators_are_exported_to_nobody_else(uma: Browser, path: object) -> None:
    assert uma.get(f"{path}{'&' if '?' in str(path) else '?'}format=csv")["statusCode"] == 403


def test_files_are_searched_and_exported_beyond_a_page(uma: Browser) -> None:
    person = directory.identify(Subject(uma.login.issuer, "uma"))
    for number in range(60):
        access.put(person, f"file {number}".encode(), "text/plain")
    access.put(person, b"{}", "application/json")
    assert "application/json" not in uma.get("/files?q=plain")["body"].split("<tbody>")[1]
    assert len(rows_of(uma.get("/files?format=csv&q=plain"))) == 60
    assert "Show all" in uma.get("/files?q=nothing+has+it")["body"]


def test_an_unknown_order_is_a_clear_error(ada: Browser) -> None:
    for path in ("/users?sort=shoe", "/roles?sort=-", "/users?sort=shoe&format=csv"):
        assert ada.get(path)["statusCode"] == 400


def test_a_density_is_kept_in_the_browser(uma: Browser) -> None:
    assert '<body class="comfortable">' in uma.get("/files")["body"]
    assert uma.submit("/profile", having="density", density="compact")["statusCode"] == 303
    assert '<body class="compact">' in uma.get("/files")["body"]
    assert uma.post("/profile", [("action", "density"), ("density", "x")])["statusCode"] == 400
