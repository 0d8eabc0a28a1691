"""The page of automations: set up by a form, shown with its runs, tried, paused, run again and ended by either side."""

import re
from dataclasses import replace
from html import unescape
from typing import Any

import pytest

from mcpist.automations import records
from mcpist.automations.records import Automation, Run
from mcpist.batch.saved import records as saved
from mcpist.caller import Role
from mcpist.people import directory
from mcpist_services import NAMES
from tests import members
from tests.console.conftest import Browser, audited, sign_in
from tests.console.test_batches import start
from tests.full_issuer import FullIssuer

LIST = {"id": "list", "module": "rag", "tool": "list_docs", "output": True}
PAGE = "/automations?name=nightly"
FIELDS = {"name": "nightly", "batch": "weekly", "schedule": "0 3 * * *", "time_zone": "Asia/Tokyo"}


@pytest.fixture
def uma(uma: Browser, login: FullIssuer) -> Browser:
    """A browser of a person with a saved batch."""
    members.put_role("acme", Role("members", modules=(*NAMES, "saved", "automations"), allow=("*",)))
    directory.access_cache.clear()
    head, _ = start(login, LIST)
    uma.submit(f"/batches?id={head.batch}", "save", name="weekly", description="Docs")
    assert saved.read("acme", fresh=True).by_name
    return uma


def set_up(browser: Browser, **fields: str) -> dict[str, Any]:
    return browser.post(
        "/automations", [("action", "set"), *((f"arg.{name}", value) for name, value in (FIELDS | fields).items())]
    )


def kept() -> Automation:
    found = records.find("acme", "nightly")
    assert found
    return found


def text(answer: dict[str, Any]) -> str:
    assert answer["statusCode"] == 200, answer["body"]
    return unescape(answer["body"])


def test_a_person_sets_up_tries_pauses_and_ends_an_automation(uma: Browser) -> None:
    empty = text(uma.get("/automations"))
    assert "Nothing runs by itself" in empty
    assert {'<option value="weekly">', '<option value="files.stored">'} <= set(
        re.findall("<option value=[^>]*>", empty)
    )
    uma.language = "ja"
    assert "小文字、数字、_" in text(uma.get("/automations"))
    uma.language = "en"
    refused = set_up(uma, parameters="[1]")
    assert "it is no JSON" in unescape(refused["body"])
    assert set_up(uma)["headers"]["location"].endswith("name=nightly&done=automation_set")
    page = text(uma.get(PAGE))
    assert "Runs as uma" in page
    assert "It has not run yet" in page
    assert "Runs as" in text(uma.get("/automations"))
    tried = text(uma.submit(PAGE, "preview"))
    assert '"tool": "rag.list_docs"' in tried
    assert uma.submit(PAGE, "pause")["statusCode"] == 303
    assert kept().state == "paused"
    assert uma.submit(PAGE, "resume")["statusCode"] == 303
    run = Run(id="1795608000.0123456789abcdef", event="e", at=1, noted_at=1, params={}, batch="b_0123456789abcdef")
    records.add_run(kept(), run.ended("failed", "<b>down</b>"))
    page = uma.get(PAGE)["body"]
    assert "&lt;b&gt;down" in page
    assert uma.submit(PAGE, "replay")["statusCode"] == 303
    assert [one.replays for one in records.list_runs(kept(), 9)] == [run.id, ""]
    assert uma.submit(PAGE, "end")["headers"]["location"].endswith("/automations?done=automation_ended")
    assert records.find("acme", "nightly") is None


def test_an_administrator_ends_what_runs_for_another_person_without_its_values(uma: Browser, aws: list[str]) -> None:
    set_up(uma)
    uma.cookies.clear()
    sign_in(uma, "ada", [*aws, "stored"])
    page = text(uma.get(PAGE))
    assert "Runs as uma" in page
    assert "Change it" not in page
    assert uma.submit(PAGE, "end")["statusCode"] == 303
    assert records.find("acme", "nightly") is None
    rows = [(row["tool"], row["target"]) for row in audited(user="ada", event="change")]
    assert rows == [("permits.end", "permits.uma"), ("automations.end", "automations.nightly")]


def test_an_automation_of_another_person_is_not_shown_to_others(uma: Browser) -> None:
    set_up(uma)
    records.change("acme", "nightly", lambda one: replace(one, user="somebody"))
    assert uma.get(PAGE)["statusCode"] == 404
    assert "nightly" not in text(uma.get("/automations"))
    assert uma.post(PAGE, [("action", "end"), ("name", "nightly")])["statusCode"] == 404
