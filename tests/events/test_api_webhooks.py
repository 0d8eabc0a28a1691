"""Webhooks of imported APIs: proposed by the description, verified as the overlay says, and read as events."""

import base64
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from events.handler import handler
from mcpist.caller import Role
from mcpist.errors import EventTypeNotFound, InvalidRequest
from mcpist.events import store
from mcpist.memory import forget_entries
from mcpist.settings import settings
from mcpist.tools.access.permissions import Permissions
from mcpist_services import events
from mcpist_services.described.compiled import imported_apis
from mcpist_services.described.overlay import load_overlay
from mcpist_services.described.overlay_files import compile_overlays
from tests import members
from tests.events.conftest import SECRET, permissions, source_of, work_off
from tests.events.library_hooks import HOOKS, WEBHOOKS, lent, mac
from tests.faults import for_each
from tests.lambda_context import Context
from tests.rest_api.fake_broker import FakeBroker
from tests.services.described.library import library, overlay_of

type Deploy = Callable[..., Permissions]

NONE: dict[str, Any] = {}
STANDARD = {
    "tool": "list_books",
    "signature": "webhook-signature",
    "prefix": "v1,",
    "encoding": "base64",
    "signed": "{webhook-id}.{webhook-timestamp}.{body}",
    "signed_at": "webhook-timestamp",
    "delivery": "header:webhook-id",
    "event": "kind",
}


def forget() -> None:
    """As in a new deployment, with the same broker."""
    for known in (settings, imported_apis, events.deployed_types):
        known.cache_clear()
    forget_entries()


@pytest.fixture
def deploy(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    broker: FakeBroker,  # noqa: ARG001 - it keeps the secrets
) -> Iterator[Deploy]:
    """A function that deploys the library's API, with what a person said of its hooks, and returns what uma may do."""

    def deployed(hooks: dict[str, Any], allowed: bool = True) -> Permissions:
        values = overlay_of(library(openapi="3.1.0", webhooks=WEBHOOKS)).dump()
        compile_overlays([load_overlay(values | ({"hooks": hooks} if hooks else {}))], tmp_path)
        members.put_role("acme", Role("members", modules=("library",), deny=() if allowed else ("library.list_books",)))
        forget()
        return permissions("uma")

    monkeypatch.setenv("APIS", str(tmp_path))
    yield deployed
    forget()


def sent(body: bytes, source: str = "", **headers: str) -> int:
    """The status of the response to a delivery; for another source than uma's only one by its id."""
    source = source or source_of().id
    event = {
        "requestContext": {"http": {"method": "POST"}},
        "rawPath": f"/hooks/{source}",
        "pathParameters": {"source": source},
        "headers": {name.replace("_", "-"): value for name, value in headers.items()},
        "body": base64.b64encode(body).decode(),
        "isBase64Encoded": True,
    }
    status: int = handler(event, Context())["statusCode"]  # type: ignore[arg-type]
    return status


def stored(name: str = "lent") -> list[dict[str, Any]]:
    page = store.read("acme", "uma", f"library.book_{name}", now=time.time())
    return [one.event.data for one in page.events]


def test_a_description_proposes_its_webhooks_without_their_secrets() -> None:
    for place, version in (("webhooks", "3.1.0"), ("x-webhooks", "3.0.3")):
        overlay = overlay_of(library(openapi=version) | {place: WEBHOOKS})
        assert list(overlay.webhooks) == ["book_lent", "book_returned"]
        assert any("add `hooks`" in one for one in overlay.review)
        found = overlay.webhooks["book_lent"]
        assert (found.event, found.description) == ("book.lent", "A book was lent")
        assert {"kind", "days:integer", "book.title", "book.author.name"} <= set(found.payload)
        assert not any("secret" in one for one in found.payload)


def test_only_a_verified_delivery_of_the_event_is_stored_once_with_its_fields(deploy: Deploy) -> None:
    uma = deploy(HOOKS)
    with pytest.raises(InvalidRequest, match="signing secret"):
        events.begin_source(uma, "library.book_lent", {})
    events.begin_source(uma, "library.book_lent", {}, SECRET)
    assert work_off() == []
    assert source_of().state == "active"
    body = lent(time.time())
    signature = f"sha256={mac(body).hex()}"
    assert [sent(body), sent(body, x_library_signature=f"sha256={mac(b'other').hex()}")] == [401, 401]
    assert stored() == []
    assert [sent(body, x_library_signature=signature) for _ in range(2)] == [204, 204]
    (data,) = stored()
    assert data["book"] == {"id": "b1", "title": "Dune", "author": {"name": "Herbert"}}
    assert (data["days"], "secret" in data, "more" in data) == (14, False, False)
    assert stored("returned") == []
    other = lent(time.time(), "book.returned")  # of the same source
    assert sent(other, x_library_signature=f"sha256={mac(other).hex()}") == 204
    assert len(stored("returned")) == 1
    old = lent(time.time() - 7 * 86_400)
    assert sent(old, x_library_signature=f"sha256={mac(old).hex()}") == 204
    for wrong in (b"[", b'{"kind": "book.lent"}'):
        assert sent(wrong, x_library_signature=f"sha256={mac(wrong).hex()}") == 400
    assert len(stored()) == 1


def test_standard_webhooks_are_verified_with_their_id_and_moment(deploy: Deploy) -> None:
    uma = deploy(STANDARD)
    events.begin_source(uma, "library.book_lent", {}, SECRET)
    body, now = lent(0), int(time.time())

    def status(id_: str, moment: int, signed_id: str = "") -> int:
        message = f"{signed_id or id_}.{moment}.".encode() + body
        given = f"v1a,eA== v1,{base64.b64encode(mac(message)).decode()}"
        return sent(body, webhook_id=id_, webhook_timestamp=str(moment), webhook_signature=given)

    assert [status("a", now), status("a", now + 1), status("b", now)] == [204, 204, 204]
    assert len(stored()) == 2
    assert [status("c", now, signed_id="a"), status("c", now - 400)] == [401, 401]
    assert sent(body, webhook_id="c", webhook_timestamp="now", webhook_signature="v1,eA==") == 401
    assert sent(body, webhook_id="c", webhook_timestamp=str(now), webhook_signature="v1,=") == 401
    assert len(stored()) == 2


def test_webhooks_are_offered_where_a_person_said_how_to_verify_them_to_those_who_may_read(deploy: Deploy) -> None:
    assert "library.book_lent" in {one.full_name for one in events.visible_types(deploy(HOOKS))}
    for hooks, allowed in ((NONE, True), (HOOKS, False)):
        uma = deploy(hooks, allowed)
        with pytest.raises(EventTypeNotFound):
            events.begin_source(uma, "library.book_lent", {}, SECRET)
    alone = {name: value for name, value in HOOKS.items() if name != "event"}
    channels = {one.channel for one in events.visible_types(deploy(alone)) if one.module == "library"}
    assert channels == {"book_lent", "book_returned"}


@for_each(
    "change, problem",
    [
        ({"occurred_at": ""}, "an old delivery could be repeated"),
        ({"signed_at": "x-time"}, "the header x-time is not signed"),
        ({"delivery": "header:x-id"}, "the header x-id is not signed"),
        ({"tool": "add_book"}, "add_book is no tool that reads"),
        ({"signed": "{x-id}"}, "signed"),
    ],
)
def test_hooks_that_could_be_replayed_or_forged_are_refused(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidRequest, match=problem):
        load_overlay(overlay_of(library()).dump() | {"hooks": HOOKS | change})


def test_an_import_keeps_the_hooks_and_takes_new_webhooks() -> None:
    first = overlay_of(library(webhooks={"book.lent": WEBHOOKS["book.lent"]})).dump()
    again = overlay_of(library(webhooks=WEBHOOKS), earlier=load_overlay(first | {"hooks": HOOKS}))
    assert again.hooks
    assert again.hooks.tool == "list_books"
    assert list(again.webhooks) == ["book_lent", "book_returned"]
