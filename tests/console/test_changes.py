"""The page of changes: what was kept, the plan of an undo, and its start."""

from html import unescape

import pytest

from mcpist.batch.ledger import transitions
from mcpist.caller import Role, Subject
from mcpist.files import access
from mcpist.people import directory
from mcpist.running import changes
from mcpist.running.changes import ChangeContent
from mcpist_services import NAMES
from tests import members
from tests.console.conftest import Browser
from tests.console.test_batches import start
from tests.full_issuer import FullIssuer
from tests.kept_changes import keep

EVIL = "<b onclick=x>\u202e"


@pytest.fixture
def uma(uma: Browser) -> Browser:
    members.put_role("acme", Role("members", modules=NAMES, allow=("files.*",)))
    directory.access_cache.clear()
    return uma


def kept(login: FullIssuer, **more: str) -> str:
    """Keep a change of Uma's, as a write does, and return its id."""
    caller = directory.identify(Subject(login.issuer, "uma"))
    file = access.put(caller, b"x", "text/plain")
    call = "share", {"path": file.path, "roles": []}
    was, became = {"roles": [], "note": EVIL}, {"roles": ["members"], "note": "n"}
    content = ChangeContent(tool="share", arguments={}, was=was, became=became, calls=(call,), nonce=str(more))
    return keep(caller, "files.share", content, **more)


def page(browser: Browser, path: str) -> str:
    answer = browser.get(path)
    assert answer["statusCode"] == 200
    return unescape(answer["body"])


def test_the_plan_of_an_undo_shows_each_field_and_its_button_starts_it(uma: Browser, login: FullIssuer) -> None:
    change = kept(login)
    assert f"/changes?undo={change}" in page(uma, "/changes")
    shown = uma.get(f"/changes?undo={change}")["body"]
    assert '<td>["members"]</td><td>[]</td>' in unescape(shown)
    assert "<b onclick" not in shown
    started = uma.submit(f"/changes?undo={change}", having="undo")
    assert started["statusCode"] == 303
    assert "/batches?id=b_" in started["headers"]["location"]


def test_what_stays_is_named_in_the_list_and_in_the_plan(uma: Browser, login: FullIssuer) -> None:
    kept(login, batch="b_0123456789abcdef")
    kept(login, batch="b_0123456789abcdef", problem="a message that was sent")
    assert "a message that was sent" in page(uma, "/changes")
    plan = page(uma, "/changes?undo=b_0123456789abcdef")
    assert "Undo 1 change" in plan
    assert "a message that was sent" in plan


def test_changes_of_another_person_are_not_shown(ada: Browser, login: FullIssuer) -> None:
    change = kept(login)
    assert change not in page(ada, "/changes")
    assert ada.get(f"/changes?undo={change}")["statusCode"] == 404


def test_a_batch_leads_to_what_undoes_it_and_then_to_what_undid_it(uma: Browser, login: FullIssuer) -> None:
    caller = directory.identify(Subject(login.issuer, "uma"))
    path = access.put(caller, b"x", "text/plain").path
    command = {"id": "a", "module": "files", "tool": "share", "params": {"path": path, "roles": []}}
    batch = start(login, command)[0].batch
    assert "/changes?undo=" not in page(uma, f"/batches?id={batch}")
    transitions.settle(f"acme#{batch}", 0, "succeeded")
    assert "/changes?undo=" not in page(uma, f"/batches?id={batch}")
    change = kept(login, batch=batch)
    assert f"/changes?undo={batch}" in page(uma, f"/batches?id={batch}")
    changes.claim(changes.find(caller, change), by="b_0123456789abcdef")
    undone = page(uma, f"/batches?id={batch}")
    assert "/changes?undo=" not in undone
    assert "/batches?id=b_0123456789abcdef" in undone
    assert "/batches?id=b_0123456789abcdef" in page(uma, "/changes")
