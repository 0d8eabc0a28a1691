"""Every route and every action of a form, walked from the tables: who may use it, and what protects it.

A new route or action is red here until a line says whom it is for.
"""

import re
from typing import Any

import pytest

from console.rendering import TEMPLATES
from console.routes import PAGES, PUBLIC
from console.visit import NAVIGATION
from mcpist.caller import Role, Subject
from mcpist.people import directory, edits
from mcpist_services import NAMES
from mcpist_services.definitions import ROUTE_NAMES
from tests import members
from tests.console.conftest import Browser, audited, put_app

FOR_EVERYBODY = {
    "GET /": 200,
    "GET /connect": 200,
    "GET /connect/{service}": 200,
    "POST /connect/{service}": 400,  # without an action
    "GET /connect/callback/{provider}": 400,  # which nobody began
    "POST /connect/confirm": 400,  # without a question
    "GET /search": 200,
    "GET /workbench": 200,
    "POST /workbench": 400,
    "GET /batches": 200,
    "POST /batches": 400,
    "GET /automations": 200,
    "POST /automations": 400,
    "GET /approvals": 200,
    "POST /approvals": 400,
    "GET /changes": 200,
    "POST /changes": 400,
    "GET /files": 200,
    "GET /tools": 200,
    "POST /tools": 400,
    "GET /profile": 200,
    "POST /profile": 400,
}
"""The routes that a user may use, with the answer to a request that says nothing more; all others are refused."""
FORMS = [route for route in PAGES if route.startswith("POST ")]
READ = [route for route in PAGES if route.startswith("GET ")]
OWN_ACTIONS = {"try", "begin", "paste", "disconnect", "cancel", "resume", "keep", "open", "confirm", "end_client"}
OWN_ACTIONS |= {"undo", "save", "delete_saved"}  # of its person or owner alone
OWN_ACTIONS |= {"set", "pause", "replay", "preview", "end"}  # of automations
OWN_ACTIONS |= {"agree", "refuse", "run"}  # what waits for the person, and its own approved requests
OWN_ACTIONS |= {
    "accepted",
    "declined",
    "default",
    "density",
    "language",
    "sign_out",
    "sign_out_there",
    "sign_out_everywhere",
}
"""The actions that change what is the person's own, or nothing."""
ADMINISTRATORS_ACTIONS: dict[str, list[tuple[str, dict[str, str]]]] = {
    "token": [("/directory", {})],
    "revoke_token": [("/directory", {})],
    "check_policies": [("/policies", {"text": "", "minutes": "60", "time_zone": "UTC"})],
    "save_policies": [("/policies", {"text": "", "minutes": "60", "time_zone": "UTC"})],
    "remove_policies": [("/policies", {})],
    "days": [("/directory", {"days": "1"})],
    "login": [("/directory", {"domain": "example.com", "issuer": "https://x", "client_id": "c", "client_secret": "s"})],
    "remove_login": [("/directory", {"domain": "example.com"})],
    "group": [("/directory", {"id": "g1", "roles": "members"})],
    "create": [
        ("/users", {"id": "ben", "sub": "ben", "name": "", "system_role": "user", "locale": "en"}),
        ("/roles", {"id": "new"}),
    ],
    "update": [
        ("/users", {"id": "uma", "sub": "uma", "name": "", "system_role": "admin", "locale": "en"}),
        ("/roles", {"id": "members", "destructive": "yes"}),
    ],
    "delete": [("/users", {"id": "ada"}), ("/roles", {"id": "members"})],
    "kill": [("/users", {"id": "ada"})],
    "invite": [("/users", {"id": "ben", "name": "Ben", "roles": "members", "locale": "en", "days": "7"})],
    "withdraw": [("/users", {"invitation": "0" * 64})],
    "create_program": [("/users", {"id": "robot", "name": "Robot", "roles": "members"})],
    "renew": [("/users", {"id": "robot"})],
    "tools": [("/roles", {"id": "members", "module": "github", "use.create_issue": "allow"})],
    "register": [("/modules", {"kind": "server", "name": "shop", "url": "https://shop.example.com/mcp"})],
    "add": [("/modules", {"ready": "gmail"})],
    "approve": [("/modules", {"id": "shop", "tools": f"{'0' * 64} find"})],
    "approve_skill": [("/skills", {"id": "refunds", "fingerprint": "0" * 64})],
    "set_app": [("/modules", {"id": "shop", "client_id": "ours"})],
    "remove_app": [("/modules", {"id": "shop"})],
    "notify": [("/approvals", {"url": "https://hooks.example.com/t0ken"})],
    "remove": [("/modules", {"id": "shop"})],
    "clients": [("/directory", {"clients": "https://client.example.com"})],
    "issuer": [("/directory", {"issuer": "https://idp.example.com"})],
    "remove_issuer": [("/directory", {"issuer": "https://idp.example.com"})],
    "enable": [("/tools", {"name": "rag", "back": "module"})],
    "disable": [("/tools", {"name": "rag", "back": "module"})],
}
"""The actions of administrators: where, with which fields."""
ROLES_ACCOUNT = [
    [("action", "begin"), ("services", "github"), ("whom", "role"), ("role", "members")],
    [("action", "paste"), ("key", "github_pat_canary00000000000000"), ("whom", "role"), ("role", "members")],
    [("action", "disconnect"), ("role", "members")],
]
DEFENCES = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
POLICY = ("default-src 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "base-uri 'none'")


def path_of(route: str) -> str:
    """Return a path of a route."""
    return re.sub(r"\{\w+\}", "github", route.partition(" ")[2])


def send(browser: Browser, route: str) -> dict[str, Any]:
    """Send a request that says nothing more than its route."""
    path = path_of(route)
    return browser.get(path) if route in READ or route in PUBLIC else browser.post(path, [])


def test_a_user_is_refused_every_route_that_is_not_named_as_everybodys(uma: Browser) -> None:
    put_app()
    version = directory.read_version("acme")
    for route in PAGES:
        answer = send(uma, route)
        assert answer["statusCode"] == FOR_EVERYBODY.get(route, 403), route
        if route not in FOR_EVERYBODY:
            assert "This page is not for you" in answer["body"]
            (row,) = audited(user="uma", event="look" if route in READ else "change")[:1]
            assert (row["tool"], row["outcome"]) == (f"console.{path_of(route)[1:]}", "AUTHORIZATION_ERROR")
    assert directory.read_version("acme") == version


def test_the_navigation_shows_a_user_nothing_that_is_refused() -> None:
    shown = {f"GET {entry.path}": entry.administrators for entry in NAVIGATION}
    assert {route for route, hidden in shown.items() if not hidden} <= set(FOR_EVERYBODY)
    # The first page loads it, and shows the link to administrators alone.
    linked = {"GET /adoption"}
    assert {route for route, hidden in shown.items() if hidden} | linked == {r for r in READ if r not in FOR_EVERYBODY}


def test_every_action_of_a_form_is_somebodys() -> None:
    found = {
        action
        for path in TEMPLATES.rglob("*.html")
        for action in re.findall(r'name="action" value="(.*?)"', path.read_text("utf-8"))
    }
    assert found == OWN_ACTIONS | set(ADMINISTRATORS_ACTIONS)
    assert OWN_ACTIONS.isdisjoint(ADMINISTRATORS_ACTIONS)


def test_a_user_who_sends_an_administrators_form_is_refused_with_a_row(uma: Browser) -> None:
    version, _ = directory.read_version("acme")
    sent = [(action, path, fields) for action, places in ADMINISTRATORS_ACTIONS.items() for path, fields in places]
    for action, path, fields in sent:
        answer = uma.post(path, [("action", action), *fields.items(), ("reviewed", str(version))])
        assert answer["statusCode"] == 403, (path, action)
    assert directory.read_version("acme")[0] == version
    rows = audited(user="uma", event="change")
    assert [row["outcome"] for row in rows] == ["AUTHORIZATION_ERROR"] * len(sent)
    assert {row["client_name"] for row in rows} == {"mcpist-console"}


def test_a_user_cannot_touch_a_roles_account(uma: Browser) -> None:
    put_app()
    for number, form in enumerate(ROLES_ACCOUNT, 1):
        assert uma.post("/connect/github", form)["statusCode"] == 403, form
        assert len(audited(user="uma", outcome="AUTHORIZATION_ERROR")) == number


def test_the_list_of_everybodys_batches_and_anothers_rows_are_refused(uma: Browser) -> None:
    assert uma.get("/batches?of=everybody")["statusCode"] == 403
    assert audited(user="uma", event="look")[0]["outcome"] == "AUTHORIZATION_ERROR"
    assert uma.get("/logs?user=ada&format=csv")["statusCode"] == 403
    assert 'value="ada"' not in uma.get("/profile?user=ada")["body"]


def test_who_is_no_administrator_any_more_is_refused_at_once(ada: Browser) -> None:
    assert ada.get("/users")["statusCode"] == 200
    issuer = ada.login.issuer
    members.put_user("acme", "eve", name="Eve", subject=Subject(issuer, "eve"), system_role="admin", roles=[])
    directory.change("acme", edits.change_user("ada", system_role="user"))
    directory.access_cache.clear()
    assert ada.get("/users")["statusCode"] == 403


def test_no_module_is_named_like_a_page() -> None:
    places = [route.partition("/")[2].split("/") for route in (*PAGES, *PUBLIC)]
    beside = {place[1] for place in places if place[0] == "connect" and len(place) > 1}
    assert beside - {"{service}"} == {"callback", "clients", "confirm", "login"}
    assert beside - {"{service}"} <= ROUTE_NAMES


@pytest.mark.parametrize(
    ("token", "headers"),
    [
        ("", {}),
        ("x", {}),
        ("another's", {}),
        ("x", {"hx-request": "true"}),
        (None, {"origin": "https://attacker.example.com"}),
        (None, {"origin": "null"}),
        (None, {"origin": ""}),
    ],
    ids=str,
)
def test_no_form_is_taken_from_another_site(
    ada: Browser, messages: list[dict[str, Any]], token: str | None, headers: dict[str, str]
) -> None:
    version = directory.read_version("acme")
    if token == "another's":
        uma = Browser(ada.login)
        uma.log_in("uma")
        token = uma.token()
    form = [("action", "disable"), ("name", "rag"), ("csrf", ada.token() if token is None else token)]
    messages.clear()
    for route in FORMS:
        answer = ada.post(path_of(route), form, **headers)
        assert (answer["statusCode"], "was not sent by a page" in answer["body"]) == (400, True), route
    assert directory.read_version("acme") == version
    assert {message["operation"] for message in messages} <= {"session"}


def test_nothing_is_framed_kept_or_told_to_another_site(ada: Browser) -> None:
    routes = [*PAGES, *PUBLIC]
    for route, answer in [(route, send(who, route)) for who in (ada, Browser(ada.login)) for route in routes]:
        headers = answer["headers"]
        assert {name: headers.get(name) for name in DEFENCES} == DEFENCES, (route, answer["statusCode"])
        assert [rule for rule in POLICY if rule not in headers["content-security-policy"]] == []
        assert "unsafe" not in headers["content-security-policy"]


def test_cookies_are_bound_to_this_host_and_hidden_from_scripts(ada: Browser) -> None:
    sent = ada.get("/profile?again=1")["cookies"]
    sent += ada.post("/profile", [("action", "language"), ("language", "ja")])["cookies"]
    sent += ada.post("/profile", [("action", "sign_out")])["cookies"]
    assert len(sent) == 3
    for cookie in sent:
        assert re.fullmatch(
            r"__Host-mcpist-(login|language|session)=[^;]*; Path=/; Max-Age=\d+; HttpOnly; SameSite=Lax; Secure", cookie
        )


def test_a_user_without_roles_sees_every_page_that_is_everybodys(uma: Browser) -> None:
    members.put_user("acme", "uma", name="Uma", subject=Subject(uma.login.issuer, "uma"), roles=[])
    members.put_role("acme", Role("members", modules=NAMES))
    directory.access_cache.clear()
    for route in READ:
        if FOR_EVERYBODY.get(route) == 200 and "{" not in route:
            assert uma.get(path_of(route))["statusCode"] == 200, route
