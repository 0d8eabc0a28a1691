"""Lists by REST: all are searched and paged alike."""

from collections.abc import Mapping
from typing import Any

import pytest

from infra.local.login import LocalLogin
from mcpist.caller import Role, Subject
from mcpist.files import access, records
from mcpist.people import directory
from tests import members
from tests.faults import for_each
from tests.rest_api.rest_client import RestClient

LISTS: Mapping[str, tuple[str, str]] = {
    "/v1/users": ("users", "user"),
    "/v1/roles": ("roles", "name"),
    "/v1/modules": ("modules", "name"),
    "/v1/invitations": ("invitations", "user"),
    "/v1/files": ("files", "sha256"),
}
WRONG: list[dict[str, Any]] = [{"limit": 0}, {"limit": 1_001}, {"limit": "x"}, {"q": "x" * 257}, {"page": 2}]


@pytest.fixture
def ada(rest: RestClient, login: LocalLogin) -> RestClient:
    """An administrator's program, in an organization with some of everything."""
    ada, caller = rest.of("ada"), directory.identify(Subject(login.issuer, "ada"))
    for number in range(3):
        members.put_role("acme", Role(f"role{number}"))
        assert ada.post("/v1/invitations", {"user": f"guest{number}", "roles": [f"role{number}"]}).status == 201
        access.put(caller, f"content {number}".encode(), "text/plain")
    members.put_user("acme", "eve", name="Eve", subject=Subject(login.issuer, "eve"), roles=["role1"])
    return ada


def names(client: RestClient, path: str, **query: Any) -> list[str]:
    """Return the names of all items, page by page."""
    field, name = LISTS[path]
    found, cursor = list[str](), ""
    while True:
        page = client.get(path, **query, **({"cursor": cursor} if cursor else {})).json
        found, cursor = found + [one[name] for one in page[field]], page["cursor"]
        assert path == "/v1/files" or page["total"] >= len(found)
        if not cursor:
            return found


@for_each("path", list(LISTS))
def test_pages_have_each_item_once(ada: RestClient, path: str) -> None:
    every = names(ada, path)
    assert len(every) >= 3
    assert names(ada, path, limit=1) == names(ada, path, limit=2) == every


@for_each(
    ("path", "text", "found"),
    [
        ("/v1/users", "ROLE1", ["eve"]),
        ("/v1/users", "um", ["uma"]),
        ("/v1/roles", "role", ["role0", "role1", "role2"]),
        ("/v1/modules", "notio", ["notion"]),
        ("/v1/invitations", "role2", ["guest2"]),
        ("/v1/files", "html", []),
    ],
)
def test_a_list_is_searched_by_a_text(ada: RestClient, path: str, text: str, found: list[str]) -> None:
    assert names(ada, path, q=text) == found


@for_each(("path", "wrong"), [(path, wrong) for path in LISTS for wrong in WRONG])
def test_wrong_parameters_of_a_list_are_refused(ada: RestClient, path: str, wrong: dict[str, Any]) -> None:
    answer = ada.get(path, **wrong)
    assert (answer.status, answer.json["details"]["field"]) == (400, next(iter(wrong)))


def test_files_of_others_are_listed_only_where_they_are_shared(ada: RestClient, login: LocalLogin) -> None:
    eve = directory.identify(Subject(login.issuer, "eve"))
    shared, kept = (access.put(eve, content, "text/plain") for content in (b"shared", b"kept"))
    records.share(shared, ["members", "role0"])
    (found,) = [one for one in ada.get("/v1/files").json["files"] if not one["own"]]
    assert (found["sha256"], found["roles"], found["sizeBytes"]) == (shared.sha256, [], 6)
    assert kept.sha256 not in ada.get("/v1/files").text
    (own, _) = sorted(ada.of("eve").get("/v1/files").json["files"], key=lambda one: -len(one["roles"]))
    assert own["roles"] == ["members", "role0"]


def test_a_list_of_a_thousand_users_is_short(ada: RestClient, login: LocalLogin) -> None:
    from dataclasses import replace

    from mcpist.people.organization import User

    users = {name: User(name, name, Subject(login.issuer, name), roles=("role1",)) for name in map(str, range(1_000))}
    directory.change("acme", lambda before: replace(before, users=before.users | users))
    answer = ada.get("/v1/users")
    assert (len(answer.json["users"]), answer.json["total"]) == (100, 1_003)
    assert len(answer.text) < 60_000
