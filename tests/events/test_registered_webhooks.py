"""Webhooks of APIs that organizations register for themselves: event types of each organization alone."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from events import tending
from mcpist.caller import Proof, Role
from mcpist.errors import EventTypeNotFound
from mcpist.events import interests, sources, store
from mcpist.events.event import Event
from mcpist.events.interests import Interest
from mcpist.events.sources import EventSource
from mcpist.memory import forget_entries
from mcpist.people import directory
from mcpist.people.administration import Administration
from mcpist.tools.access.permissions import Permissions
from mcpist_services import events
from mcpist_services.catalogue import CATALOGUE
from mcpist_services.described.overlay import load_overlay
from mcpist_services.described.overlay_files import compile_overlays
from mcpist_services.registered import registration
from mcpist_services.registered.request import parse
from tests import members
from tests.core.people.conftest import FakeAccounts
from tests.events.conftest import work_off
from tests.events.library_hooks import HOOKS, WEBHOOKS, lent, mac
from tests.events.test_api_webhooks import forget, sent
from tests.rest_api.fake_broker import FakeBroker
from tests.services.described.library import library, overlay_of

OTHER_HOOKS = HOOKS | {"signature": "x-globex-signature"}
SECRETS = {"acme": "the-secret-of-acme", "globex": "the-secret-of-globex"}


@pytest.fixture
def globex(organization: str, broker: FakeBroker) -> Iterator[str]:
    """Another organization, of ada and uma, too, beside a broker that binds secrets as the real one."""

    def keep(message: dict[str, Any]) -> dict[str, Any]:
        kept = json.dumps([message["organization"], message["owner"], message["secret"]])
        return {"sealed": kept, "secret": message["secret"]}

    def compute(message: dict[str, Any]) -> dict[str, Any]:
        *place, secret = json.loads(message["sealed"])
        assert place == [message["organization"], message["owner"]]
        content = base64.b64decode(message["message"])
        return {"mac": hmac.new(secret.encode(), content, hashlib.sha256).hexdigest()}

    broker.answers |= {"keep_secret": keep, "mac": compute}
    before = directory.read(organization)
    members.put_organization("globex", name="Globex")
    members.put_role("globex", Role("members"))
    for user in ("ada", "uma"):
        known = before.users[user]
        members.put_user(
            "globex", user, name=user, subject=known.subject, system_role=known.system_role, roles=["members"]
        )
    forget_entries()
    yield "globex"
    for name in ("acme", "globex"):
        for module in directory.read(name).modules:
            registration.unregister(administration(name), module)
    forget_entries()


def administration(organization: str) -> Administration:
    return Administration(permissions(organization, "ada").caller, "r1", FakeAccounts())


def permissions(organization: str, user: str = "uma") -> Permissions:
    subject = directory.read(organization).users[user].subject
    caller = directory.identify(subject, organization=organization, proof=Proof("jwt", "j.w.t"))
    return Permissions(caller, CATALOGUE)


def register(organization: str, hooks: dict[str, Any] = HOOKS, **changes: Any) -> None:
    """Register the library's API, as an administrator corrected its overlay, and let the members read its books."""
    overlay = overlay_of(library(openapi="3.1.0", webhooks=WEBHOOKS)).dump() | changes
    known = "library" in directory.read(organization).modules
    overlay |= {"hooks": hooks} if hooks else {}
    registration.register(
        administration(organization), parse({"name": "library", "overlay": overlay, "overwrite": known})
    )
    role = directory.read(organization).role("members")
    members.put_role(organization, replace(role, modules=(*role.modules, "library")))
    forget_entries()


def begun(organization: str) -> EventSource:
    """A source of uma's, active with the secret of the organization's vendor."""
    events.begin_source(permissions(organization), "library.book_lent", {}, SECRETS[organization])
    assert work_off() == []
    (source,) = sources.of_user(organization, "uma")
    assert source.state == "active"
    return source


def stored(organization: str) -> list[Event]:
    page = store.read(organization, "uma", "library.book_lent", now=time.time())
    return [one.event for one in page.events]


def names(organization: str) -> set[str]:
    return {one.full_name for one in events.visible_types(permissions(organization)) if one.module == "library"}


def test_an_organizations_own_api_has_event_types_for_its_people_alone(globex: str) -> None:
    register("acme")
    assert names("acme") == {"library.book_lent", "library.book_returned"}
    assert names(globex) == set()
    with pytest.raises(EventTypeNotFound):
        events.begin_source(permissions(globex), "library.book_lent", {}, SECRETS[globex])
    source = begun("acme")
    body = lent(time.time())
    signature = f"sha256={mac(body, SECRETS['acme']).hex()}"
    assert [sent(body, source.id), sent(body, source.id, x_library_signature="sha256=00")] == [401, 401]
    assert [sent(body, source.id, x_library_signature=signature) for _ in range(2)] == [204, 204]
    (event,) = stored("acme")
    assert (event.organization, event.user, event.data["book"]["title"]) == ("acme", "uma", "Dune")
    assert stored(globex) == []


def test_two_organizations_with_an_api_of_one_name_share_neither_secrets_nor_types_nor_events(
    globex: str, delivered: list[tuple[str, str]]
) -> None:
    register("acme")
    register(globex, OTHER_HOOKS, host="https://globex.example/v1")
    for name in SECRETS:
        wish = Interest(id=f"i-{name}", organization=name, user="uma", type="library.book_lent", kind="automation")
        interests.add(wish)
    ours, theirs = begun("acme"), begun(globex)
    body = lent(time.time())
    by_us, by_them = (f"sha256={mac(body, SECRETS[name]).hex()}" for name in ("acme", globex))
    # The own header with the other's secret, and the own secret in the other's header.
    assert sent(body, ours.id, x_library_signature=by_them, x_globex_signature=by_them) == 401
    assert sent(body, ours.id, x_globex_signature=by_us) == 401
    assert sent(body, theirs.id, x_library_signature=by_us, x_globex_signature=by_us) == 401
    assert sent(body, theirs.id, x_globex_signature=by_them) == 204
    assert (stored("acme"), [one.organization for one in stored(globex)]) == ([], [globex])
    assert work_off() == []
    assert [interest for interest, _ in delivered] == ["i-globex"]
    for name in SECRETS:
        for one in interests.of_user(name, "uma"):
            interests.remove(one)


def test_a_source_takes_nothing_for_an_api_at_another_host_or_one_that_is_gone(globex: str) -> None:
    register("acme")
    source, body = begun("acme"), lent(time.time())
    signed = {"x_library_signature": f"sha256={mac(body, SECRETS['acme']).hex()}"}
    register("acme", description="The same API, described better")
    assert sent(body, source.id, **signed) == 204
    register("acme", host="https://elsewhere.example/v1")
    assert sent(body, source.id, **signed) == 404
    register("acme", hooks={})
    assert names("acme") == set()
    registration.unregister(administration("acme"), "library")
    forget_entries()
    assert sent(body, source.id, **signed) == 404
    for _ in range(2):
        tending.tend(source.id)
    assert sources.find(source.id) is None
    assert len(stored("acme")) == 1
    assert globex


def test_who_may_not_read_the_registered_api_hears_of_nothing_any_more(
    globex: str, delivered: list[tuple[str, str]]
) -> None:
    register("acme")
    wish = Interest(id="i-own", organization="acme", user="uma", type="library.book_lent", kind="automation")
    events.begin_source(permissions("acme"), "library.book_lent", {}, SECRETS["acme"])
    events.listen(permissions("acme"), wish)
    assert work_off() == []
    (source,) = sources.of_user("acme", "uma")
    role = directory.read("acme").role("members")
    members.put_role("acme", replace(role, deny=("library.list_books",)))
    forget_entries()
    body = lent(time.time())
    assert sent(body, source.id, x_library_signature=f"sha256={mac(body, SECRETS['acme']).hex()}") == 204
    assert work_off() == []
    assert delivered == []
    assert globex


def test_an_api_whose_name_the_deployment_took_has_no_types_any_more(
    globex: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register("acme", security={"kind": "none"})  # else its accounts alone would refuse the deployment's tools
    source, body = begun("acme"), lent(time.time())
    compile_overlays([load_overlay(overlay_of(library()).dump())], tmp_path)
    with monkeypatch.context() as deployed:
        deployed.setenv("APIS", str(tmp_path))
        forget()
        assert permissions("acme").tool("library", "list_books")
        assert names("acme") == set()
        assert sent(body, source.id, x_library_signature=f"sha256={mac(body, SECRETS['acme']).hex()}") == 404
    forget()
    assert globex
