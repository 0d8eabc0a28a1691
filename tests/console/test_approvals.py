"""The page of approvals: what a person sees, decides and runs, and the mark in the navigation."""

from dataclasses import replace
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from mcpist.aws.table import directory_table
from mcpist.batch.execution import submission
from mcpist.batch.options import BatchOptions
from mcpist.caller import Role, Subject
from mcpist.errors import ApprovalPending
from mcpist.people import directory
from mcpist.running import approvals, gate
from mcpist.running.gate import ToolUse
from mcpist.tools.access.permissions import Permissions
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from tests import members
from tests.audit_items import audit_items
from tests.console.conftest import Browser, sign_in
from tests.full_issuer import FullIssuer

GUARDED = Role("members", modules=NAMES, allow=("rag.*",), destructive=True, approval=("rag.*",))
EVIL = '"><b onclick=x>\u202e.md'


@pytest.fixture
def uma(uma: Browser) -> Browser:
    put_role(GUARDED)
    return uma


@pytest.fixture
def ada(ada: Browser) -> Browser:
    put_role(GUARDED)
    return ada


def put_role(role: Role) -> None:
    members.put_role("acme", role)
    directory.access_cache.clear()


def requester(login: FullIssuer) -> Permissions:
    """Uma's program."""
    return Permissions(directory.identify(Subject(login.issuer, "uma")), CATALOGUE)


def asked(login: FullIssuer, path: str = "old.md") -> str:
    with pytest.raises(ApprovalPending) as waits:
        gate.admit(requester(login), ToolUse("rag", "delete_doc", {"path": path}, "r1"))
    approval: str = waits.value.details["approval_id"]
    return approval


def state_of(login: FullIssuer, approval: str) -> str:
    found = approvals.find_own(requester(login).caller, approval)
    assert found
    return found.state


def page(browser: Browser, path: str) -> str:
    answer = browser.get(path)
    assert answer["statusCode"] == 200, answer
    return unescape(answer["body"])


def test_a_person_sees_what_is_destroyed_and_approves_it(ada: Browser, login: FullIssuer) -> None:
    approval = asked(login)
    assert "1 waiting" in page(ada, "/")
    assert f"/approvals?id={approval}" in page(ada, "/approvals")
    shown = page(ada, f"/approvals?id={approval}")
    assert '"path": "old.md"' in shown
    assert "rag.delete_doc" in shown
    # On a phone the rows become blocks: the targets of a table would be beyond the screen's edge.
    assert shown.index('<div class="stack">') < shown.index('<td class="long"><pre>')
    assert "uma wants to destroy this" in shown
    done = ada.submit(f"/approvals?id={approval}", having="agree")
    assert done["statusCode"] == 303
    assert state_of(login, approval) == "approved"
    assert "waiting</span>" not in page(ada, "/approvals")
    assert [row["user"] for row in audit_items("acme") if row["tool"] == "approvals.approve"] == ["ada"]


def test_the_requester_may_approve_in_the_console_and_run_it_there(uma: Browser, login: FullIssuer) -> None:
    approval = asked(login)
    uma.submit(f"/approvals?id={approval}", having="agree")
    ran = uma.submit(f"/approvals?id={approval}", having="run")
    assert ran["statusCode"] == 404  # it ran: there is no such document
    assert state_of(login, approval) == "used"
    assert 'There is no file "old.md"' in page(uma, f"/approvals?id={approval}")


def test_a_second_person_is_wanted(uma: Browser, login: FullIssuer) -> None:
    put_role(replace(GUARDED, approval=(), second_person=("rag.*",)))
    approval = asked(login)
    shown = page(uma, f"/approvals?id={approval}")
    assert 'value="agree"' not in shown
    assert "another person must approve" in shown
    assert "1 waiting" not in page(uma, "/")
    form = [("action", "agree"), ("id", approval)]
    assert uma.post("/approvals", form)["statusCode"] == 403
    assert state_of(login, approval) == "waiting"


def test_a_refusal_needs_a_reason_that_the_requester_reads(ada: Browser, login: FullIssuer, aws: list[str]) -> None:
    approval = asked(login)
    assert ada.submit(f"/approvals?id={approval}", having="refuse")["statusCode"] == 400
    ada.submit(f"/approvals?id={approval}", having="refuse", reason="not on Fridays")
    assert state_of(login, approval) == "declined"
    uma = Browser(login)
    sign_in(uma, "uma", [*aws, "stored"])
    assert "not on Fridays" in page(uma, "/approvals")


def test_a_requester_cancels(uma: Browser, login: FullIssuer) -> None:
    approval = asked(login)
    uma.submit(f"/approvals?id={approval}", having="cancel")
    assert state_of(login, approval) == "cancelled"


def test_an_approval_of_others_does_not_exist(uma: Browser, login: FullIssuer) -> None:
    members.put_user("acme", "bob", name="Bob", subject=Subject(login.issuer, "bob"), roles=["members"])
    bob = Permissions(directory.identify(Subject(login.issuer, "bob")), CATALOGUE)
    with pytest.raises(ApprovalPending) as waits:
        gate.admit(bob, ToolUse("rag", "delete_doc", {"path": "bobs.md"}, "r1"))
    approval = waits.value.details["approval_id"]
    put_role(replace(GUARDED, destructive=False))
    assert "1 waiting" not in page(uma, "/")
    assert uma.get(f"/approvals?id={approval}")["statusCode"] == 404
    for action in ("agree", "refuse", "cancel", "run"):
        form = [("action", action), ("id", approval), ("reason", "no")]
        assert uma.post("/approvals", form)["statusCode"] == 404


def test_a_form_of_another_page_approves_nothing(ada: Browser, login: FullIssuer) -> None:
    approval = asked(login)
    form = [("action", "agree"), ("id", approval)]
    assert ada.post("/approvals", form, origin="https://evil.example.com")["statusCode"] == 400
    assert ada.post("/approvals", [*form, ("csrf", "x")])["statusCode"] == 400
    assert state_of(login, approval) == "waiting"


def test_names_from_outside_are_text(ada: Browser, login: FullIssuer) -> None:
    approval = asked(login, EVIL)
    for path in ("/", "/approvals", f"/approvals?id={approval}"):
        body = ada.get(path)["body"]
        assert "<b onclick" not in body
        assert "\u202e" not in body


def test_a_batch_is_shown_whole_and_started_by_its_requester(uma: Browser, login: FullIssuer) -> None:
    lines = """\
{"id":"find","module":"rag","tool":"list_docs"}
{"id":"drop","module":"rag","tool":"delete_doc","params":{"path":"old.md"}}"""
    prepared = submission.prepare(requester(login), lines, BatchOptions(), "r1")
    with pytest.raises(ApprovalPending) as waits:
        prepared.submit(requester(login), gate.NOT_ASKED)
    approval = waits.value.details["approval_id"]
    shown = page(uma, f"/approvals?id={approval}")
    assert '"id":"find"' in shown
    assert "Line 2" in shown
    uma.submit(f"/approvals?id={approval}", having="agree")
    started = uma.submit(f"/approvals?id={approval}", having="run")
    assert parse_qs(urlsplit(started["headers"]["location"]).query)["id"] == [approval]
    assert f"/batches?id={approval}" in page(uma, f"/approvals?id={approval}")


def test_an_administrator_says_who_is_told(ada: Browser, login: FullIssuer, aws: list[str]) -> None:
    set_to: list[Any] = [("action", "notify"), ("url", "https://hooks.example.com/t0ken")]
    shown = unescape(ada.post("/approvals", set_to)["body"])
    assert "whsec_" in shown
    assert "hooks.example.com" in page(ada, "/approvals")
    assert "whsec_" not in page(ada, "/approvals")
    uma = Browser(login)
    sign_in(uma, "uma", [*aws, "stored"])
    assert uma.post("/approvals", set_to)["statusCode"] == 403
    assert ada.post("/approvals", [("action", "notify"), ("url", "")])["statusCode"] == 200
    (item,) = directory_table().query("notification#acme")
    assert item["url"] == ""


def test_the_pages_are_in_japanese_too(ada: Browser, login: FullIssuer) -> None:
    approval = asked(login)
    ada.language = "ja"
    assert "承認" in page(ada, "/approvals")
    assert "承認する" in page(ada, f"/approvals?id={approval}")
