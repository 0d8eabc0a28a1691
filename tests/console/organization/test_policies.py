"""The page of policies: what is wrong is shown beside what was typed; a check saves nothing."""

from collections.abc import Iterator
from html import unescape

import pytest

from mcpist.people import directory, edits
from tests.console.conftest import Browser

BASE = '@id("base") permit (principal, action, resource);'
SETTINGS = [("time_zone", "Asia/Tokyo"), ("minutes", "30"), ("labels", "rag.*=customer\nslack/main=public")]


@pytest.fixture(autouse=True)
def without(messages: list[dict[str, object]]) -> Iterator[None]:
    assert messages == []
    yield
    directory.change("acme", edits.set_policies(None))
    directory.access_cache.clear()


def send(browser: Browser, action: str, text: str) -> dict[str, object]:
    return browser.post("/policies", [("action", f"{action}_policies"), ("text", text), *SETTINGS])


def test_policies_are_checked_saved_and_removed(ada: Browser) -> None:
    assert "only roles decide" in ada.get("/policies")["body"]
    checked = unescape(str(send(ada, "check", BASE)["body"]))
    assert "1 policies are right" in checked
    assert directory.read("acme").policies is None
    assert send(ada, "save", BASE)["headers"]["location"].endswith("done=policies_saved")  # type: ignore[index]
    saved = directory.read("acme").policies
    assert saved is not None
    assert (saved.version, saved.time_zone, saved.minutes, saved.remembers) == (1, "Asia/Tokyo", 30, False)
    assert saved.labels == ("rag.*=customer", "slack/main=public")
    assert send(ada, "remove", "")["headers"]["location"].endswith("done=policies_removed")  # type: ignore[index]
    assert directory.read("acme").policies is None


def test_wrong_policies_stand_in_the_editor_with_their_problem(ada: Browser) -> None:
    wrong = f'{BASE} @id("typo") forbid (principal, action == Action::"rag.list_tag", resource);'
    shown = unescape(str(send(ada, "save", wrong)["body"]))
    assert wrong in shown
    assert "unrecognized action" in shown
    assert directory.read("acme").policies is None


def test_others_do_not_see_the_page(uma: Browser) -> None:
    assert uma.get("/policies")["statusCode"] == 403
