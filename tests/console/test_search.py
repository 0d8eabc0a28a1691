"""One search over pages, tools, people, batches, files and the audit, as far as a person may see them."""

import html
import json
import re
from urllib.parse import urlencode

from mcpist.audit import record as audit
from mcpist.caller import Caller, Subject
from mcpist.files import access
from mcpist.people import directory
from tests.console.conftest import Browser
from tests.full_issuer import FullIssuer

UMA = Caller("acme", "uma", Subject("https://login.example.com", "uma"), "user", ())


def found(browser: Browser, text: str) -> list[str]:
    """Return the addresses that a search leads to."""
    page = browser.get(f"/search?{urlencode({'q': text})}")["body"]
    (results,) = re.findall(r'<div id="results">(.*?)</div>', page, re.DOTALL)
    return [html.unescape(path) for path in re.findall(r'href="(.*?)"', results)]


def test_a_person_finds_pages_tools_and_own_batches_and_files(uma: Browser, login: FullIssuer) -> None:
    assert "/workbench" in found(uma, "workb")
    assert "/tools?tool=rag.search_docs" in found(uma, "search my documents")
    step = json.dumps({"id": "canary_step", "module": "rag", "tool": "list_tags"})
    batch = uma.post("/workbench", [("action", "run"), ("commands", step)])["headers"]["location"].partition("b_")[2]
    assert f"/batches?id=b_{batch.partition('&')[0]}" in found(uma, "canary_step")
    file = access.put(directory.identify(Subject(login.issuer, "uma")), b"a,b", "text/csv")
    assert f"/files?sha256={file.sha256}" in found(uma, file.sha256[:10])


def test_people_roles_and_the_audit_are_hidden_from_users(uma: Browser) -> None:
    audit.record_use(UMA, "rag", "canary_tool", outcome="succeeded", request="r")
    uma_finds = found(uma, "uma") + found(uma, "canary_tool") + found(uma, "members")
    assert not [path for path in uma_finds if path.startswith(("/users", "/roles", "/logs"))]


def test_an_administrator_finds_people_roles_and_rows(ada: Browser) -> None:
    assert "/users?id=uma" in found(ada, "uma")
    assert "/roles?id=members" in found(ada, "MEMB")
    audit.record_use(UMA, "rag", "canary_tool", outcome="succeeded", request="r")
    rows = [path for path in found(ada, "canary_tool") if path.startswith("/logs")]
    assert rows[-1] == "/logs?text=canary_tool", "which searches on"
    assert "canary_tool" in ada.get(rows[0])["body"]


def test_a_text_that_nothing_has_and_none_at_all(uma: Browser) -> None:
    assert found(uma, "qqzzxx") == []
    assert "Nothing has the text &lt;qqzzxx&gt;" in uma.get(f"/search?{urlencode({'q': '<qqzzxx>'})}")["body"]
    assert found(uma, "") == []
