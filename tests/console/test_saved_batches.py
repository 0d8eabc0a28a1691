"""Saved batches in the console: saved from a batch that ran, changed, run with a form, and deleted."""

import json
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from mcpist.aws.table import ledger_table
from mcpist.batch.saved import records
from mcpist.caller import Role
from mcpist.people import directory
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from mcpist_services.saved import checking
from tests import members
from tests.console.conftest import Browser
from tests.console.test_batches import start
from tests.full_issuer import FullIssuer
from tests.mcp_endpoint.ledger_driver import LedgerDriver

FIND = {"id": "find", "module": "rag", "tool": "list_tags", "output": True}
READ = {"id": "read", "module": "rag", "tool": "list_docs", "after": ["find"], "output": True}
TOOL = "/tools?tool=saved.weekly"


@pytest.fixture
def saver(uma: Browser) -> Iterator[Browser]:
    """A browser of a person who saves batches."""
    members.put_role("acme", Role("members", modules=(*NAMES, "saved"), allow=("rag.*", "saved.*"), destructive=True))
    directory.access_cache.clear()
    yield uma
    directory.access_cache.clear()


def save_as(saver: Browser, batch: str, description: str) -> dict[str, Any]:
    return saver.submit(f"/batches?id={batch}", "save", name="weekly", description=description)


def change(saver: Browser, **fields: str) -> dict[str, Any]:
    """Send the form for the next version; a browser sends the texts of its areas, too."""
    form = {"action": "save", "name": "weekly", "replaces": "1", "description": "Docs", **fields}
    return saver.post(TOOL, list(form.items()))


def test_a_batch_that_ran_becomes_a_tool_that_a_form_runs(saver: Browser, login: FullIssuer) -> None:
    head, _ = start(login, FIND, READ)
    made = save_as(saver, head.batch, "Tags & docs")
    assert made["headers"]["location"].endswith(f"{TOOL}&done=batch_saved"), made["body"]
    page = unescape(saver.get(TOOL)["body"])
    assert "Tags & docs" in page
    assert "version 1 · saved by uma" in page
    assert page.count('class="step waiting"') == 2
    assert 'name="replaces" value="1"' in page
    lines = '{"id":"docs","module":"rag","tool":"list_docs","params":{"limit":"${param.count}"}}'
    changed = change(saver, commands=lines, parameters='{"count": {"type": "integer"}}', roles="members")
    assert changed["statusCode"] == 303, changed["body"]
    saved = records.read("acme", fresh=True).by_name["weekly"]
    assert (saved.version, saved.roles, saved.answer) == (2, ("members",), "docs")
    ran = saver.post(TOOL, [("action", "try"), ("tool", "saved.weekly"), ("arg.count", "3")])
    batch = parse_qs(urlsplit(ran["headers"]["location"]).query)["id"][0]
    assert LedgerDriver(batch).step("docs").step.params == {"limit": 3}
    wrong = unescape(saver.post(TOOL, [("action", "try"), ("tool", "saved.weekly"), ("arg.count", "many")])["body"])
    assert "Write a number." in wrong


def test_who_was_slower_keeps_what_was_typed_and_may_save_it_after_all(saver: Browser, login: FullIssuer) -> None:
    head, _ = start(login, FIND)
    save_as(saver, head.batch, "Tags")
    typed = {"commands": json.dumps(FIND), "parameters": "{}"}
    assert change(saver, **typed, description="First")["statusCode"] == 303
    slower = change(saver, **typed, description="Second")
    assert slower["statusCode"] == 412
    page = unescape(slower["body"])
    assert "yours was not saved" in page
    assert 'value="Second"' in page
    assert 'name="replaces" value="2"' in page
    assert change(saver, **typed, description="Second", replaces="2")["statusCode"] == 303
    assert records.read("acme", fresh=True).by_name["weekly"].description == "Second"


def test_what_is_refused_is_told_on_the_page_and_a_deleted_one_is_gone(saver: Browser, login: FullIssuer) -> None:
    head, _ = start(login, FIND)
    save_as(saver, head.batch, "Tags")
    assert "it is no JSON" in unescape(change(saver, parameters="{")["body"])
    assert 'no module "find"' in unescape(change(saver, commands='{"tool":"find.nope"}')["body"])
    members.put_organization("acme", name="Acme", disabled=("rag.list_tags",))
    directory.access_cache.clear()
    assert "It cannot run now." in saver.get(TOOL)["body"]
    gone = saver.post("/tools?module=saved", [("action", "delete_saved"), ("name", "weekly")])
    assert gone["headers"]["location"].endswith("/tools?module=saved&done=saved_batch_deleted"), gone["body"]
    assert not records.read("acme", fresh=True).by_name


def test_the_owners_first_page_leads_to_a_broken_one_until_it_is_mended(saver: Browser, login: FullIssuer) -> None:
    head, _ = start(login, FIND)
    save_as(saver, head.batch, "Tags")
    line = f'<li><a href="{TOOL}"><span><b>Your saved batch weekly no longer works.</b>'
    assert line not in saver.get("/")["body"]

    def check(*disabled: str) -> str:
        members.put_organization("acme", name="Acme", disabled=disabled)
        ledger_table().set("acme#saved", "weekly", {"checked_at": 1})
        directory.access_cache.clear()
        checking.check_all("acme", CATALOGUE)
        return str(saver.get("/")["body"])

    broken = check("rag.list_tags")
    assert line in broken
    assert "is switched off in your organization. (step find)" in unescape(broken)
    saver.language = "ja"
    assert "保存済みバッチ weekly が実行できなくなりました。" in saver.get("/")["body"]
    saver.language = "en"
    assert line not in check()
    assert line in check("rag.list_tags")
    members.put_organization("acme", name="Acme")
    directory.access_cache.clear()
    assert "It cannot run now." not in saver.get(TOOL)["body"]
    assert line not in saver.get("/")["body"], "whoever has looked at it need not wait for the night"
    assert line in check("rag.list_tags")
    ledger_table().set("acme#saved", "weekly", {"owner": "ada", "roles": ["members"]})
    assert records.read("acme", fresh=True).by_name["weekly"].problem
    assert line not in saver.get("/")["body"], "it is its owner who is told"
    ledger_table().set("acme#saved", "weekly", {"owner": "uma"})
    assert change(saver, commands='{"id":"docs","module":"rag","tool":"list_docs"}')["statusCode"] == 303
    assert line not in saver.get("/")["body"]


def test_a_destructive_one_asks_first(saver: Browser) -> None:
    drop = {"id": "drop", "module": "rag", "tool": "delete_doc", "params": {"path": "old.md"}}
    permissions_form = [
        ("action", "save"),
        ("name", "weekly"),
        ("description", "Drop"),
        ("commands", str(drop).replace("'", '"')),
    ]
    assert saver.post("/tools", permissions_form)["statusCode"] == 303
    asked = saver.post(TOOL, [("action", "try"), ("tool", "saved.weekly")])
    assert "/batches?confirm=" in asked["headers"]["location"], asked["body"]
