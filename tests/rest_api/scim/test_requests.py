"""Requests of a directory as SCIM has them: pages, filters and operations, and errors with their types."""

import json
import time
from typing import Any

from tests.faults import for_each
from tests.rest_api.scim.conftest import Scim

NESTED = "[" * 2_000 + "]" * 2_000


def test_pages_and_attributes(scim: Scim) -> None:
    for number in range(5):
        scim.make_user(f"u{number}@example.com", externalId=f"E{number}")
    first, last = (scim.send("GET", "/Users", startIndex=start, count=2).json for start in (1, 5))
    assert [first[name] for name in ("totalResults", "startIndex", "itemsPerPage")] == [5, 1, 2]
    assert [last[name] for name in ("totalResults", "startIndex", "itemsPerPage")] == [5, 5, 1]
    assert scim.send("GET", "/Users", startIndex=0, count=-1).json["Resources"] == []
    assert scim.send("GET", "/Users", count=10**6, startIndex=9).json["Resources"] == []
    (one,) = scim.send("GET", "/Users", filter='externalId eq "E3"', attributes="userName,emails.value").json[
        "Resources"
    ]
    assert set(one) == {"schemas", "id", "meta", "userName"}
    assert scim.send("GET", "/Users", filter='externalId eq "e3"').json["totalResults"] == 0
    asked = {"filter": 'active eq true and userName eq "U1@example.com"', "excludedAttributes": ["groups"]}
    (found,) = scim.send("POST", "/.search", asked).json["Resources"]
    assert (found["externalId"], "groups" in found) == ("E1", False)


@for_each(
    ("method", "path", "body", "expected"),
    [
        ("GET", "/Users?filter=userName", None, (400, "invalidFilter")),
        ("GET", '/Users?filter=userName eq "a" and', None, (400, "invalidFilter")),
        ("GET", '/Users?filter=password eq "a"', None, (400, "invalidFilter")),
        ("GET", '/Users?filter=userName eq "\\x"', None, (400, "invalidFilter")),
        ("GET", "/Users?count=many", None, (400, "invalidValue")),
        ("POST", "/Users", "{", (400, "invalidSyntax")),
        ("POST", "/Users", f'{{"userName": {NESTED}}}', (400, "invalidValue")),
        ("POST", "/Users", "[]", (400, "invalidSyntax")),
        ("POST", "/Users", {"displayName": "E"}, (400, "invalidValue")),
        ("POST", "/Users", {"userName": "x" * 257}, (400, "invalidValue")),
        ("POST", "/Users", {"userName": ["x"]}, (400, "invalidValue")),
        ("POST", "/Users", {"userName": "x", "active": "perhaps"}, (400, "invalidValue")),
        ("POST", "/Users", {"userName": "x", "emails": [{"type": "work"}]}, (400, "invalidValue")),
        ("PATCH", "/Users/ID", {}, (400, "invalidSyntax")),
        ("PATCH", "/Users/ID", {"Operations": [{"op": "move"}]}, (400, "invalidSyntax")),
        ("PATCH", "/Users/ID", {"Operations": ["add"]}, (400, "invalidSyntax")),
        ("PATCH", "/Users/ID", {"Operations": [{"op": "add", "value": 1}]}, (400, "invalidPath")),
        ("PATCH", "/Users/ID", {"Operations": [{"op": "remove"}]}, (400, "invalidPath")),
        ("PATCH", "/Users/ID", {"Operations": [{"op": "add", "path": "a[b", "value": 1}]}, (400, "invalidPath")),
        ("PATCH", "/Users/ID", {"Operations": [{"op": "add", "path": 'name[x eq "y"]'}]}, (400, "invalidPath")),
        ("PATCH", "/Users/ID", {"Operations": [{"op": "remove", "path": "active"}]}, (400, "invalidValue")),
        ("PATCH", "/Users/ID", {"Operations": [{"op": "replace", "value": {"userName": None}}]}, (400, "invalidValue")),
        ("PATCH", "/Users/ID", {"Operations": [{"op": "remove", "path": 'emails[a eq "b"]'}]}, (400, "invalidFilter")),
        (
            "PATCH",
            "/Users/ID",
            {"Operations": [{"op": "add", "path": "displayName", "value": "x"}] * 201},
            (400, "invalidSyntax"),
        ),
        ("PUT", "/Users", {}, (405, "")),
        ("POST", "/Schemas", {}, (405, "")),
        ("GET", "/Schemas/none", None, (404, "")),
        ("GET", "/Me", None, (404, "")),
    ],
)
def test_a_wrong_request_has_scims_error(
    scim: Scim, method: str, path: str, body: Any, expected: tuple[int, str]
) -> None:
    known = scim.send("GET", "/Users", filter='userName eq "eve@example.com"').json["Resources"]
    id_ = known[0]["id"] if known else scim.make_user("eve@example.com")
    path, _, query = path.replace("ID", id_).partition("?")
    name, _, value = query.partition("=")
    assert scim.problem(method, path, body, **({name: value} if name else {})) == expected


def test_a_hostile_filter_or_path_costs_no_time(scim: Scim) -> None:
    id_ = scim.make_user("eve@example.com")
    hostile = [
        " and ".join(['userName eq "a"'] * 21),
        'userName eq "' + "\\" * 60_000,
        "a " * 30_000,
        'userName eq "a" and ' * 3_000,
        "a." * 30_000 + " eq true",
    ]
    began = time.process_time()
    for text in hostile:
        assert scim.problem("GET", "/Users", filter=text) == (400, "invalidFilter")
        assert (
            scim.problem("PATCH", f"/Users/{id_}", {"Operations": [{"op": "add", "path": f"emails[{text}]"}]})[0] == 400
        )
    assert time.process_time() - began < 5


def test_one_of_several_values_is_changed_and_removed(scim: Scim) -> None:
    path = f"/Users/{scim.make_user('e', emails=[{'value': 'a@x', 'type': 'work'}, {'value': 'b@x', 'type': 'home'}])}"
    changed = scim.patch(path, {"op": "Replace", "path": 'emails[type eq "home"].value', "value": "c@x"})
    assert [email["value"] for email in changed.json["emails"]] == ["a@x", "c@x"]
    without = scim.patch(path, {"op": "Remove", "path": 'emails[type eq "work"]'}, {"op": "remove", "path": "name"})
    assert [email["value"] for email in without.json["emails"]] == ["c@x"]
    typeless = scim.patch(path, {"op": "Remove", "path": 'emails[value eq "c@x"].type'})
    assert typeless.json["emails"] == [{"value": "c@x"}]


def test_the_documents_describe_what_is_kept(scim: Scim) -> None:
    config = scim.send("GET", "/ServiceProviderConfig").json
    assert (config["patch"]["supported"], config["bulk"]["supported"]) == (True, False)
    user = scim.send("GET", "/Schemas/urn:ietf:params:scim:schemas:core:2.0:User").json
    made = scim.send("GET", f"/Users/{scim.make_user('eve@example.com', displayName='E', title='T')}").json
    assert set(made) - {"schemas", "id", "meta"} <= {attribute["name"] for attribute in user["attributes"]}
    assert "title" not in json.dumps(made)
