"""A form that is refused is shown again on its page: with its problem at the field, and with what was typed."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from mcpist.people import directory
from tests.console.conftest import GITHUB_KEY, Browser, audited

# The page, a value of its form, what is typed, the field that is wrong, and what the page still has.
MISTAKES: list[tuple[str, str, dict[str, str], str, str]] = [
    ("/users?new=1", "create", {"id": "a#b", "name": "Ben", "sub": "b"}, "id", 'value="Ben"'),
    ("/users?new=1", "create", {"id": "ben", "name": "Ben", "sub": "uma"}, "sub", 'value="Ben"'),
    ("/users?new=1", "create", {"id": "uma", "name": "Ben", "sub": "b"}, "id", 'value="Ben"'),
    ("/users?new=1", "create", {"id": "b", "name": "", "sub": "b", "locale": "fr"}, "locale", 'value="b"'),
    ("/users?invite=1", "make_link", {"id": "ben", "name": "Ben", "days": "99"}, "days", 'value="Ben"'),
    ("/roles?new=1", "create", {"id": "a#b"}, "id", 'value="a#b"'),
    ("/modules?new=1", "register", {"name": "shop", "url": "nowhere", "description": "A"}, "url", 'value="nowhere"'),
    ("/approvals", "notify", {"url": "ftp://example.com"}, "url", 'value="ftp://example.com"'),
]


@pytest.mark.parametrize(("path", "having", "typed", "field", "kept"), MISTAKES, ids=lambda value: str(value)[:24])
def test_a_mistake_stands_at_its_field_and_nothing_typed_is_lost(
    ada: Browser, path: str, having: str, typed: dict[str, str], field: str, kept: str
) -> None:
    version, _ = directory.read_version("acme")
    answer = ada.submit(path, "invite" if having == "make_link" else having, **typed)
    page = answer["body"]
    assert 400 <= answer["statusCode"] < 500, page
    assert re.search(rf'<(input|select|textarea) id="field-{field}"[^>]* aria-invalid="true"', page), page
    assert f'<p class="problem" id="about-{field}" role="alert">' in page
    assert kept in page
    assert "<nav" in page
    assert directory.read_version("acme")[0] == version


def test_boxes_and_areas_keep_what_was_typed_where_a_change_came_between(ada: Browser) -> None:
    form = [("action", "update"), ("id", "members"), ("boxes", "modules"), ("boxes", "destructive")]
    changed = [("modules", "notion"), ("allow", "notion.create_*"), ("reviewed", "0")]
    answer = ada.post("/roles?id=members", [*form, *changed])
    assert answer["statusCode"] == 412
    note = re.search(r'<div class="note bad".*?</div>', answer["body"])
    assert note
    assert "<b>This was changed while you were editing, so yours was not saved.</b>" in note[0]
    assert 'href="/roles?id=members" target="_blank"' in note[0], "what is there now can be read beside the form"
    assert "version" not in note[0], "the language of programs is for programs"
    japanese = replace(ada, language="ja").post("/roles?id=members", [*form, *changed])["body"]
    assert "<b>編集している間に内容が変更されたため、保存していません。</b>" in japanese
    assert 'name="modules" value="notion" checked' in answer["body"]
    assert 'name="modules" value="github" checked' not in answer["body"]
    assert ">notion.create_*</textarea>" in answer["body"]


def test_a_secret_is_typed_again(ada: Browser, messages: list[dict[str, Any]]) -> None:
    answer = ada.submit("/connect/github", "paste", key=f"x{GITHUB_KEY}")
    assert answer["statusCode"] == 400
    assert "GitHub does not accept this key" in answer["body"] or 'aria-invalid="true"' in answer["body"]
    assert GITHUB_KEY not in answer["body"]
    messages.clear()


def test_an_area_keeps_a_description_that_is_none(ada: Browser) -> None:
    answer = ada.post("/modules?new=1", [("action", "register"), ("name", "shop"), ("openapi", "{no api")])
    assert answer["statusCode"] == 400
    assert '<p class="problem" id="about-openapi" role="alert">' in answer["body"]
    assert ">{no api</textarea>" in answer["body"]


def test_an_api_is_known_by_its_description(ada: Browser) -> None:
    paths = {"/things": {"get": {"operationId": "listThings", "summary": "List the things", "responses": {}}}}
    api = {"openapi": "3.1.0", "info": {"title": "Shop", "version": "1"}, "paths": paths}
    text = json.dumps({**api, "servers": [{"url": "https://shop.example.com"}]})
    shown = ada.post("/modules?new=1", [("action", "register"), ("name", "shop"), ("url", ""), ("openapi", text)])
    assert shown["statusCode"] == 200, shown["body"]
    assert "Check this change" in shown["body"]


def test_a_failed_read_is_no_change(ada: Browser) -> None:
    assert ada.get("/roles?id=nothing")["statusCode"] == 404
    rows = [row for row in audited(user="ada") if row["tool"] == "console.roles"]
    assert [(row["event"], row["outcome"]) for row in rows] == [("look", "ROLE_NOT_FOUND")]
