"""What a company's directory may do here: users who wait for their people, ends that count at once, roles of groups."""

from collections.abc import Callable
from typing import Any

import pytest

from infra.local.login import LocalLogin
from mcpist.caller import Role, Subject
from mcpist.errors import AcceptanceRequired, MembershipRequired
from mcpist.people import browsers, client_logins, directory, memberships, provisioning
from mcpist.people.organization import Organization
from mcpist.tools.access.permissions import Permissions
from mcpist_services.catalogue import CATALOGUE
from tests import members
from tests.audit_items import audit_items
from tests.rest_api.fake_broker import FakeBroker
from tests.rest_api.rest_client import RestClient
from tests.rest_api.scim.conftest import Scim, scim_with

type Acme = Callable[[], Organization]

DEACTIVATE = {"op": "replace", "value": {"active": False}}
ACTIVATE = {"op": "replace", "value": {"active": True}}


@pytest.fixture
def eve(login: LocalLogin) -> Subject:
    return Subject(login.issuer, "eve")


def join(subject: Subject, address: str) -> None:
    """Sign in with a verified address and accept."""
    provisioning.meet(subject, address, "r1")
    memberships.answer(subject, "acme", "accepted", "r2")


def test_a_user_waits_for_whoever_signs_in_with_the_verified_address_and_accepts(
    scim: Scim, eve: Subject, acme: Acme
) -> None:
    id_ = scim.make_user("eve.long", emails=[{"value": "Eve@Example.com", "primary": True}], displayName="Eve")
    for wrong in ("", "mallory@example.com", "eve.long"):
        provisioning.meet(eve, wrong, "r1")
    assert directory.known(eve).waiting == ()
    provisioning.meet(eve, "eve@example.com", "r1")
    with pytest.raises(AcceptanceRequired):
        directory.identify(eve)
    memberships.answer(eve, "acme", "accepted", "r2")
    caller = directory.identify(eve)
    assert (caller.user, caller.name, caller.system_role, caller.role_names) == ("eve.long", "Eve", "user", ())
    # A new address is no other person.
    scim.patch(f"/Users/{id_}", {"op": "Replace", "path": "emails", "value": [{"value": "mallory@example.com"}]})
    provisioning.meet(Subject(eve.issuer, "mallory"), "mallory@example.com", "r3")
    assert acme().users["eve.long"].subject == eve


def test_a_directory_captures_nobody_of_another_organization(rest: RestClient, scim: Scim, login: LocalLogin) -> None:
    members.put_organization("globex", name="Globex")
    members.put_user("globex", "mallory", name="M", subject=Subject(login.issuer, "mallory"), system_role="admin")
    mallory = rest.of("mallory").with_headers(x_mcpist_organization="globex")
    foreign = scim_with(rest, mallory.post("/v1/directory/token", {}).json["token"])
    uma = Subject(login.issuer, "uma")
    foreign.make_user("uma@example.com")
    provisioning.meet(uma, "uma@example.com", "r1")
    assert directory.identify(uma).organization == "acme"
    assert [one.organization for one in directory.known(uma).waiting] == ["globex"]
    # A token of another organization finds nothing here, and what it knows of here is not found there.
    id_ = scim.make_user("eve@example.com")
    group = scim.send("POST", "/Groups", {"displayName": "G", "members": [{"value": id_}]}).json["id"]
    for path in (f"/Users/{id_}", f"/Groups/{group}"):
        for method, body in (("GET", None), ("PUT", {"userName": "x", "displayName": "x"}), ("DELETE", None)):
            assert foreign.problem(method, path, body)[0] == 404
        assert foreign.patch(path, DEACTIVATE).status == 404
    assert foreign.problem("POST", "/Groups", {"displayName": "G", "members": [{"value": id_}]}) == (
        400,
        "invalidValue",
    )
    assert foreign.send("GET", "/Users", filter='userName eq "eve@example.com"').json["totalResults"] == 0


def test_who_is_deactivated_is_out_at_every_door_and_who_is_active_again_is_as_before(
    scim: Scim, eve: Subject, acme: Acme, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[tuple[Subject, str]] = []
    login = client_logins.ClientLogin("l1", "c", "Claude", "https://c.example", 1, 1, 1)
    monkeypatch.setattr(client_logins, "find", lambda subject: [login] if subject == eve else [])
    monkeypatch.setattr(client_logins, "end", lambda subject, login: ended.append((subject, login)))
    id_ = scim.make_user("eve@example.com")
    join(eve, "eve@example.com")
    browsers.sign_in(eve, "session-1", "acme", "Firefox", expires_at=2**40)
    browsers.sign_in(eve, "session-2", "globex", "Firefox", expires_at=2**40)
    assert scim.patch(f"/Users/{id_}", DEACTIVATE).json["active"] is False
    directory.access_cache.clear()  # of a sandbox, after five seconds
    with pytest.raises(MembershipRequired):
        directory.identify(eve)
    assert directory.known(eve).waiting == ()  # nobody accepts their way back
    assert [browser.organization for browser in browsers.find(eve, fresh=True)] == ["globex"]
    assert ended == [(eve, "l1")]
    first = acme().users["eve@example.com"].deactivated_at
    assert (
        scim.send("PUT", f"/Users/{id_}", {"userName": "eve@example.com", "title": "still away"}).json["active"]
        is False
    )
    assert acme().users["eve@example.com"].deactivated_at == first
    assert scim.patch(f"/Users/{id_}", {"op": "Replace", "path": "active", "value": "True"}).json["active"] is True
    directory.access_cache.clear()
    assert directory.identify(eve).user == "eve@example.com"
    # Also where somebody deactivates and nobody has come yet.
    waiting = scim.make_user("new@example.com", active=False)
    provisioning.meet(Subject(eve.issuer, "new"), "new@example.com", "r1")
    assert scim.send("GET", f"/Users/{waiting}").json["active"] is False
    assert acme().users["new@example.com"].subject.issuer == "mailto:"


def test_a_document_of_the_organization_activates_nobody_and_loses_nothing_of_the_directory(
    rest: RestClient, scim: Scim, eve: Subject, acme: Acme
) -> None:
    id_ = scim.make_user("eve@example.com")
    join(eve, "eve@example.com")
    group = scim.send("POST", "/Groups", {"displayName": "G", "members": [{"value": id_}]}).json["id"]
    scim.patch(f"/Users/{id_}", DEACTIVATE)
    ada = rest.of("ada")
    before = acme()
    assert ada.send("PUT", "/v1/organization", ada.get("/v1/organization").json).status == 200
    after = acme()
    assert (after.users, after.groups, after.directory) == (before.users, before.groups, before.directory)
    assert ada.send("PATCH", "/v1/users/eve@example.com", {"name": "Eve"}).status == 200
    assert acme().users["eve@example.com"].deactivated_at
    assert acme().members_of(group)


def test_a_deleted_user_is_gone_with_the_accounts_or_stays_deactivated_until_they_are(
    scim: Scim, eve: Subject, acme: Acme
) -> None:
    broker = FakeBroker()
    broker.answers["expire"] = {"ended": 0, "left": 2}
    id_ = scim.make_user("eve@example.com")
    join(eve, "eve@example.com")
    assert scim.send("DELETE", f"/Users/{id_}").status == 204
    assert scim.problem("GET", f"/Users/{id_}")[0] == 404
    kept = acme().users["eve@example.com"]
    assert provisioning.is_expired(acme(), kept, kept.deactivated_at)
    directory.access_cache.clear()
    with pytest.raises(MembershipRequired):
        directory.identify(eve)
    again = scim.make_user("eve@example.com")
    assert acme().users[f"eve@example.com-{again[:8]}"].acceptance == "waiting"
    answers = iter([{"ended": 16, "left": 2}, {"ended": 2, "left": 0}])
    broker.answers["expire"] = lambda _: next(answers)
    assert scim.send("DELETE", f"/Users/{again}").status == 204
    assert f"eve@example.com-{again[:8]}" not in acme().users
    assert {"operation": "expire", "organization": "acme"}.items() <= broker.messages[-1].items()


def test_an_administrator_sees_first_whom_a_groups_roles_concern_and_only_an_administrator_gives_them(
    rest: RestClient, scim: Scim, eve: Subject, acme: Acme
) -> None:
    ada = rest.of("ada")
    members.put_role("acme", Role("readers", modules=("github",)))
    id_ = scim.make_user("eve@example.com")
    join(eve, "eve@example.com")
    made = {"displayName": "Engineers", "members": [{"value": id_}], "roles": ["readers"]}
    group = scim.send("POST", "/Groups", made).json["id"]
    assert acme().groups[group].roles == ()
    path = f"/v1/groups/{group}"
    shown = ada.send("PATCH", path, {"roles": ["readers"]}, dryRun="true").json
    (effect,) = shown["effects"]
    assert (effect["users"], "github.get_issue" in effect["appear"]) == (["eve@example.com"], True)
    assert acme().groups[group].roles == ()
    assert rest.of("uma").send("PATCH", path, {"roles": ["readers"]}).status == 403
    assert ada.send("PATCH", path, {"roles": ["nobody"]}).json["code"] == "VALIDATION_ERROR"
    assert ada.send("PATCH", "/v1/groups/none", {"roles": []}).json["code"] == "GROUP_NOT_FOUND"
    assert ada.send("PATCH", path, {"roles": ["readers"]}).status == 200
    directory.access_cache.clear()
    assert "get_issue" in {
        tool.name for tool in Permissions(directory.identify(eve), CATALOGUE).tools(_module("github"))
    }
    listed = ada.get("/v1/groups", q="engin").json["groups"]
    assert listed == [{"id": group, "name": "Engineers", "external_id": "", "roles": ["readers"], "members": 1}]
    assert ada.send("DELETE", "/v1/roles/readers").json["code"] == "CONFLICT"
    # A change of the user alone keeps the roles of the groups.
    assert ada.send("PATCH", "/v1/users/eve@example.com", {"roles": ["members"]}).status == 200
    directory.access_cache.clear()
    assert directory.identify(eve).role_names == ("members", "readers")
    scim.patch(f"/Groups/{group}", {"op": "remove", "path": f'members[value eq "{id_}"]'})
    directory.access_cache.clear()
    assert directory.identify(eve).role_names == ("members",)


def _module(name: str) -> Any:
    return CATALOGUE.index.modules[name]


def test_a_user_of_today_is_managed_from_their_next_sign_in_and_the_last_administrator_stays(
    scim: Scim, login: LocalLogin, acme: Acme
) -> None:
    ids = {name: scim.make_user(f"{name}@example.com") for name in ("ada", "uma")}
    for name in ids:
        provisioning.meet(Subject(login.issuer, name), f"{name}@example.com", "r1")
    assert set(acme().users) == {"ada", "uma"}
    assert scim.patch(f"/Users/{ids['uma']}", DEACTIVATE).status == 200
    assert acme().users["uma"].membership == "deactivated"
    assert scim.problem("PATCH", f"/Users/{ids['ada']}", {"Operations": [DEACTIVATE]}) == (409, "")
    assert scim.problem("DELETE", f"/Users/{ids['ada']}") == (409, "")
    assert acme().users["ada"].administers


def test_a_token_is_shown_once_stored_as_its_hash_replaced_and_revoked(rest: RestClient, scim: Scim) -> None:
    ada = rest.of("ada")
    made = ada.post("/v1/directory/token", {})
    assert (made.status, made.headers["cache-control"]) == (201, "no-store")
    assert scim.problem("GET", "/Users") == (401, "")  # the one before
    token = made.json["token"]
    newer = scim_with(rest, token)
    assert newer.send("GET", "/Users").status == 200
    assert rest.of("uma").post("/v1/directory/token", {}).status == 403
    shown = ada.get("/v1/directory").json
    assert (shown["connected"], shown["grant_days"], shown["url"].endswith("/scim/v2")) == (True, 30, True)
    rows = str(audit_items("acme"))
    assert "directory.connect" in rows
    for kept in (str(directory.directory_table().query("org#acme")), rows, str(shown)):
        assert token.partition(".")[2] not in kept
    assert ada.send("PATCH", "/v1/directory", {"grant_days": 3}).json["changes"][0]["after"] == 3
    assert ada.send("PATCH", "/v1/directory", {"grant_days": 366}).json["code"] == "VALIDATION_ERROR"
    wrong = ("", "scim_", f"{token}x", token[5:], "scim_YWNtZQ.", "scim_~.x", "scim_b3Jn.x", ada.login.mint("ada"))
    for other in wrong:
        assert scim_with(rest, other).problem("GET", "/Users") == (401, "")
    assert ada.send("DELETE", "/v1/directory/token").status == 200
    assert newer.problem("GET", "/Users") == (401, "")


def test_every_change_has_a_row_of_the_directory_in_the_audit(scim: Scim) -> None:
    id_ = scim.make_user("eve@example.com")
    scim.patch(f"/Users/{id_}", DEACTIVATE)
    scim.problem("POST", "/Users", {"userName": "eve@example.com"})
    rows = [row for row in audit_items("acme") if row["user"] == "directory"]
    assert [(row["tool"], row["outcome"]) for row in rows] == [
        ("directory.put_user", "succeeded"),
        ("directory.put_user", "succeeded"),
        ("directory.put_user", "CONFLICT"),
    ]
    assert {row["client_name"] for row in rows} == {"Okta SCIM Client 1.0.0"}
