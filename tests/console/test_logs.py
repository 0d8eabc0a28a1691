"""Administrators search the audit, read a row's story and export; everybody sees the own rows on the profile."""

import re
from html import unescape

import pytest

from console.rendering import AUDIT_COLUMNS
from mcpist.audit import record as audit
from mcpist.audit.rows import COLUMNS
from mcpist.caller import Caller, Role, Subject
from tests.console.conftest import Browser, audited

EVIL = '"><b onclick=x>\u202e=cmd'


def use(tool: str, *, user: str = "uma", outcome: str = "succeeded", request: str = "r-1") -> None:
    caller = Caller("acme", user, Subject("https://login.example.com", user), "user", (Role("members"),))
    audit.record_use(caller, "github", tool, outcome=outcome, request=request)


def test_rows_are_found_by_filters(ada: Browser) -> None:
    use("get_me", request="r-1")
    use("create_issue", outcome="AUTHORIZATION_ERROR", request="r-2")
    page = ada.get("/logs?outcome=failed&user=uma")["body"]
    assert "create_issue" in page
    assert "get_me" not in page
    assert "No row has these values." in ada.get("/logs?user=nobody")["body"]


def test_a_refused_row_in_the_list_leads_to_the_decisions_about_its_user(ada: Browser) -> None:
    use("create_issue", outcome="AUTHORIZATION_ERROR", request="r-9")
    use("get_me", request="r-10")
    page = ada.get("/logs?user=uma")["body"]
    links = {unescape(found) for found in re.findall(r'href="(/tools\?[^"]*why=1[^"]*)"', page)}
    assert "/tools?tool=github.get_me&why=1&user=uma" not in links
    explained = ada.get("/tools?tool=github.create_issue&why=1&user=uma")["body"]
    assert "/tools?tool=github.create_issue&why=1&user=uma" in links
    assert "Why uma cannot use this tool" in explained


@pytest.mark.parametrize(
    ("outcome", "is_explained"), [("CONNECTION_REQUIRED", True), ("TOOL_NOT_FOUND", True), ("VALIDATION_ERROR", False)]
)
def test_only_a_refusal_leads_to_decisions(ada: Browser, outcome: str, is_explained: bool) -> None:
    use("create_issue", outcome=outcome)
    assert ("why=1" in ada.get(f"/logs?user=uma&outcome={outcome}")["body"]) is is_explained


def test_a_user_has_another_explained_by_nobody_and_the_own_refused_row_explained(uma: Browser) -> None:
    use("create_issue", outcome="AUTHORIZATION_ERROR", request="r-9")
    assert 'href="/tools?tool=github.create_issue&amp;why=1"' in uma.get("/profile")["body"]
    assert uma.get("/tools?tool=github.create_issue&why=1&user=ada")["statusCode"] == 403
    assert audited(user="uma", event="look")[0]["tool"] == "why.read"


def test_a_refused_row_leads_to_the_decisions_about_its_tool(ada: Browser) -> None:
    use("create_issue", outcome="AUTHORIZATION_ERROR", request="r-8")
    link = re.search(r'href="(/logs\?[^"]*id=[^"]*)"', ada.get("/logs?user=uma&outcome=failed")["body"])
    assert link
    page = ada.get(link[1].replace("&amp;", "&"))["body"]
    assert 'href="/tools?tool=github.create_issue&amp;why=1&amp;user=uma"' in page


def test_a_row_has_a_story(ada: Browser) -> None:
    use("get_me", request="r-7")
    link = re.search(r'href="(/logs\?[^"]*id=[^"]*)"', ada.get("/logs?user=uma")["body"])
    assert link
    page = ada.get(link[1].replace("&amp;", "&"))["body"]
    assert "The whole story" in page
    assert "r-7" in page


@pytest.mark.parametrize(("form", "kind"), [("csv", "text/csv; charset=utf-8"), ("jsonl", "application/x-ndjson")])
def test_an_export_is_stored_and_not_shown(ada: Browser, form: str, kind: str) -> None:
    use("get_me")
    answer = ada.get(f"/logs?user=uma&format={form}")
    assert answer["headers"]["content-type"] == kind
    assert answer["headers"]["content-disposition"] == f'attachment; filename="audit.{form}"'


@pytest.mark.parametrize("path", ["/logs?days=8", "/logs?format=xml", "/logs?cursor=x", "/logs?id=x"])
def test_a_wrong_question_is_a_clear_error(ada: Browser, path: str) -> None:
    assert ada.get(path)["statusCode"] in {400, 404}


def test_what_a_row_says_is_text(ada: Browser) -> None:
    use(EVIL, outcome=EVIL)
    page = ada.get("/logs")["body"]
    assert "<b onclick" not in page
    assert "\\u{202E}" in page


def test_a_person_sees_only_the_own_rows(uma: Browser) -> None:
    use("get_me")
    use("delete_file", user="ada")
    assert uma.get("/logs")["statusCode"] == 403
    page = uma.get("/profile")["body"]
    assert "github.get_me" in page
    assert "delete_file" not in page


def test_every_column_of_the_table_is_one_of_the_audit() -> None:
    assert set(AUDIT_COLUMNS) <= set(COLUMNS)
