"""Names from outside are text on every page of accounts."""

from typing import Any

import pytest

from console.connections import service_path
from console.rendering import render, texts
from console.sign_in.sessions import OpenSession
from console.visit import Visit
from mcpist.caller import Caller, Role, Subject
from mcpist.http.browser import BrowserRequest

EVIL = '"><b onclick=x>\u202e'
ACCOUNT = {"id": EVIL, "name": EVIL, "url": ""}
QUESTION = {
    "old": ACCOUNT,
    "new": ACCOUNT,
    "role": EVIL,
    "question": "0",
    "reasons": ["replaces", "personal"],
    "choices": [],
}
CHOICE = {**QUESTION, "reasons": ["several"], "choices": [ACCOUNT, {**ACCOUNT, "url": EVIL}]}
CALLER = Caller("acme", EVIL, Subject("https://login.example.com", "x"), "admin", (Role(EVIL),))


REQUEST = BrowserRequest(
    {"rawPath": "/connect", "requestContext": {"domainName": "mcp.example.com", "http": {"method": "GET"}}}
)
VISIT = Visit("r-1", 0.0, REQUEST, OpenSession("acme", EVIL, CALLER.subject, "0", 0, 0, "0"), CALLER, sent="0")


def show(template: str, **values: Any) -> str:
    """Render a template as a visit does."""
    frame = {"person": CALLER, "navigation": [], "path": "/connect", "csrf_token": "x", "done": "", "visit": VISIT}
    return render(template, texts("en"), {**frame, **values})


def offer(**grant: Any) -> dict[str, Any]:
    row = {
        "account_id": EVIL,
        "account_name": EVIL,
        "services": ["tracker"],
        "kind": "person",
        "open_to": [EVIL],
        "acts": True,
        "own": True,
        "owner": "user#uma",
        "label": "work",
        "default": True,
        "usable": True,
        "role": "",
        "created_at": 0,
    }
    entry = {
        "service": "tracker",
        "provider": "tracker",
        "together": ["tracker"],
        "consent": True,
        "keys": True,
        "grants": [row | grant],
    }
    return {"roles": ["members", EVIL], "all_roles": ["members", EVIL], "services": [entry]}


def service(**grant: Any) -> str:
    given = offer(**grant)
    return show(
        "connect/service.html",
        offer=given,
        entry=given["services"][0],
        role=EVIL,
        label=EVIL,
        problem=EVIL,
        sent_to=[EVIL],
    )


@pytest.mark.parametrize(
    "page",
    [
        lambda: show("connect/overview.html", offer=offer(), entries=offer()["services"]),
        service,
        lambda: service(account_name=""),
        lambda: service(own=False, role=EVIL),
        lambda: show("connect/question.html", pending=QUESTION),
        lambda: show("connect/question.html", pending=CHOICE),
        lambda: show("connect/leaving.html", service=EVIL, url=f"https://login.example.com/{EVIL}"),
    ],
    ids=["overview", "service", "unnamed", "role", "question", "choice", "leaving"],
)
def test_an_accounts_name_is_text_on_every_page_and_hides_nothing(page: Any) -> None:
    html = page()
    assert "<b onclick" not in html
    assert "onclick" in html
    shown = html.replace(f'value="{EVIL}"', "")
    assert "\\u{202E}" in shown


def test_a_service_with_a_strange_name_has_a_path_of_one_segment() -> None:
    assert service_path("a/../b?c") == "/connect/a%2F..%2Fb%3Fc"


def test_a_choice_of_accounts_shows_each_with_its_site_and_the_connected_one_is_chosen() -> None:
    sites = [{"id": "g", "name": "globex", "url": "https://globex.example.com"}, {"id": "a", "name": "acme", "url": ""}]
    asked = {"question": "0", "reasons": ["several"], "role": "", "old": None, "new": sites[0], "choices": sites}
    html = show("connect/question.html", pending=asked)
    assert 'name="account" value="g" checked' in html
    assert 'name="account" value="a">' in html
    assert "https://globex.example.com" in html
