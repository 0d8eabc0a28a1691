"""Whatever a text from outside says, on every page it is text: for a parser, and for a real browser."""

import base64
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import pytest
from playwright.sync_api import Route

from mcpist import settings
from mcpist.caller import Subject
from mcpist.people import directory, edits
from mcpist.people.administration import Administration
from mcpist_services import NAMES
from mcpist_services.registered import registration
from mcpist_services.registered.request import parse
from tests.conftest import PUBLIC_URL
from tests.console.conftest import Browser
from tests.console.hostile import EVERYTHING, IDS, PAYLOADS, Hostile, connect, fill, invite, people
from tests.console.markup import problems
from tests.core.loopback import Service
from tests.core.people.conftest import FakeAccounts
from tests.full_issuer import FullIssuer
from tests.services.registered.conftest import tool
from tests.upstreams.configured import reset_upstreams
from tests.upstreams.fake_upstream import serving_fake
from tests.whole.browser import complaints, new_page, running

ROLE = f"r1 {IDS[1]}"
ADMINISTRATORS_PAGES = (
    "/",
    "/adoption",
    "/logs",
    "/logs?outcome=failed&days=1",
    "/users",
    f"/users?{urlencode({'id': 'uma'})}",
    f"/users?{urlencode({'id': f'u1 {IDS[1]}'})}",
    "/users?new=1",
    "/users?invite=1",
    "/connect/github",
    "/profile",
    f"/roles?{urlencode({'id': 'members', 'tab': 'accounts'})}",
    f"/users?{urlencode({'id': 'ada'})}",
    "/roles",
    *(f"/roles?{urlencode({'id': ROLE, 'tab': tab})}" for tab in ("permissions", "users", "accounts")),
    f"/roles?{urlencode({'id': ROLE, 'module': 'notes'})}",
    "/modules",
    "/modules?id=notes",
    "/modules?id=shop",
    "/tools?module=notes&tool=notes.find_note",
    "/tools?tool=shop.get_items&why=1",
    "/batches?of=everybody",
)
PAGES = (
    "/",
    "/profile",
    "/tools",
    "/tools?tool=rag.list_tags&why=1",
    "/connect",
    "/connect/github",
    "/batches",
    "/approvals",
    "/files",
)
REFLECTED = (
    *(
        ("/tools", name)
        for name in ("q", "module", "category", "tag", "effect", "page", "tool", "connect", "connected")
    ),
    *(("/logs", name) for name in ("user", "service", "tool", "client", "outcome", "text", "days", "cursor", "id")),
    *(("/users", name) for name in ("q", "id", "cursor", "invite")),
    *(("/join", name) for name in ("organization", "code")),
    *(("/roles", name) for name in ("id", "tab", "module")),
    *(("/batches", name) for name in ("id", "step", "confirm", "before", "of")),
    *(("/approvals", name) for name in ("id", "done")),
    *(("/files", name) for name in ("sha256", "from", "view")),
    *(("/connect/github", name) for name in ("user", "role", "done")),
    *(("/connect/callback/github", name) for name in ("error", "state", "code")),
    *(("/profile", name) for name in ("cursor", "done", "other")),
    *(("/modules", name) for name in ("id", "new")),
    *(("/signed-out", name) for name in ("done",)),
)
SHOWN_AGAIN = {"q", "text", "user", "module"}
"""The parameters that fill a field of the page again."""
WITHOUT = {
    "ada /batches?of=everybody",
    "ada /modules",
    "ada /modules?id=shop",
    "uma /approvals",
    "uma /batches",
    "uma /connect",
    "uma /files",
}
WITHOUT |= {"uma /", "uma /tools", "uma /tools?tool=rag.list_tags&why=1"}
"""The pages that show nothing from outside but ids of ours."""
SHOP = {
    "openapi": "3.1.0",
    "info": {"title": EVERYTHING, "version": PAYLOADS[0], "description": EVERYTHING},
    "servers": [{"url": "https://shop.example.com"}],
    "paths": {
        "/items": {
            "get": {
                "operationId": "listItems",
                "summary": PAYLOADS[1],
                "description": EVERYTHING,
                "tags": [PAYLOADS[0]],
                "parameters": [
                    {
                        "name": "q",
                        "in": "query",
                        "description": EVERYTHING,
                        "schema": {"type": "string", "enum": [*IDS]},
                    }
                ],
                "responses": {"200": {"description": EVERYTHING}},
            }
        }
    },
}


@pytest.fixture
def hostile(messages: list[dict[str, Any]], login: FullIssuer, service: Service) -> Iterator[Hostile]:
    """The organization with hostile people, accounts, invitations, uses, files, batches and modules."""
    assert messages == []
    people(login)
    ada = directory.identify(Subject(login.issuer, "ada"), organization="acme")
    reset_upstreams()
    with serving_fake() as fake, pytest.MonkeyPatch.context() as local:
        listed = [tool("find_note", EVERYTHING), *(tool(text, text) for text in PAYLOADS)]
        fake.says["tools/list"] = {"tools": listed}
        local.setenv("PUBLIC_URL", "http://127.0.0.1:1")
        settings.settings.cache_clear()
        administration = Administration(ada, "request-1", FakeAccounts())
        server = {"name": "notes", "url": f"http://127.0.0.1:{fake.port}/mcp", "description": PAYLOADS[1]}
        for body in (server, {"name": "shop", "openapi": SHOP, "description": PAYLOADS[2]}):
            registration.register(administration, parse(body))
        registration.approve(administration, "notes", ["find_note"])
    modules = edits.change_role("members", modules=(*NAMES, "notes", "shop"))
    directory.change("acme", modules)
    settings.settings.cache_clear()
    directory.access_cache.clear()
    fill(login, "ada")
    owner = Browser(login)
    owner.log_in("ada")
    connect(owner, service)
    yield fill(login, "uma", invite(administration))
    reset_upstreams()


def paths(stored: Hostile) -> list[str]:
    """Return the pages with what a person stored, and a panel of each step and file."""
    found = [f"/batches?id={batch}{step}" for batch in stored.batches for step in ("", "&step=find", "&step=fail")]
    return [
        *PAGES,
        f"/join?{stored.invitation}",
        *found,
        *(f"/files?sha256={one}{view}" for one in stored.files for view in ("", "&view=lines")),
    ]


def check(answer: dict[str, Any]) -> list[str]:
    """Return what is wrong with an answer."""
    found = problems(answer["body"])
    if answer["statusCode"] >= 500:
        found.append(f"status {answer['statusCode']}")
    if str(7777 * 7) in answer["body"]:
        found.append("a template from outside was rendered")
    return found


def test_names_and_results_from_outside_are_text_on_every_page(browser: Browser, hostile: Hostile) -> None:
    browser.log_in("uma")
    ada = Browser(browser.login)
    ada.log_in("ada")
    shown = {f"uma {path}": browser.get(path) for path in paths(hostile)}
    shown |= {f"ada {path}": ada.get(path) for path in ADMINISTRATORS_PAGES}
    assert {path: answer["statusCode"] for path, answer in shown.items() if answer["statusCode"] != 200} == {}
    typed = {f"{path} {name}": ada.get(f"{path}?{urlencode({name: EVERYTHING})}") for path, name in REFLECTED}
    typed["/connect/"] = ada.get(f"/connect/{quote(EVERYTHING, safe='')}")
    without = {path for path, answer in shown.items() if "hacked" not in answer["body"].casefold()}
    assert without <= WITHOUT, "each page shows some"
    wrong = {path: check(answer) for path, answer in (shown | typed).items()}
    assert {path: found for path, found in wrong.items() if found} == {}


@pytest.mark.slow
def test_a_real_browser_runs_nothing_and_asks_no_other_site(browser: Browser, hostile: Hostile) -> None:
    browser.log_in("ada")
    asked: list[str] = []

    def serve(route: Route) -> None:
        """Answer as the console does, with its headers."""
        url = urlsplit(route.request.url)
        if f"{url.scheme}://{url.netloc}" != PUBLIC_URL:
            asked.append(route.request.url)
            route.abort()
            return
        answer = browser.get(f"{url.path}?{url.query}" if url.query else url.path)
        coded = answer.get("isBase64Encoded") and "content-encoding" not in answer["headers"]
        headers = {name: value for name, value in answer["headers"].items() if name != "content-encoding"}
        body = base64.b64decode(answer["body"]) if coded else answer["body"]
        route.fulfill(status=answer["statusCode"], headers=headers, body=body)

    reflected = [f"{path}?{urlencode({name: EVERYTHING})}" for path, name in REFLECTED if name in SHOWN_AGAIN]
    with running() as chromium:
        page = new_page(chromium)
        page.route("**/*", serve)
        heard = complaints(page.context)
        for path in (*ADMINISTRATORS_PAGES, *paths(hostile), *reflected):
            page.goto(f"{PUBLIC_URL}{path}")
            assert page.evaluate("[typeof hacked, typeof htmx]") == ["undefined", "object"], path
    assert [line for line in heard if "Failed to load resource" not in line] == []
    assert asked == []
