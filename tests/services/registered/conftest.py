"""Fixtures of registrations: an organization of a local deployment, its administrator, and a server on loopback."""

from collections.abc import Iterator
from typing import Any

import pytest

from infra.local.login import LocalLogin
from mcpist.caller import Subject
from mcpist.people import directory
from mcpist.people.administration import Administration
from tests.core.people.conftest import FakeAccounts
from tests.services.registered.people import Registrar
from tests.upstreams.configured import reset_upstreams
from tests.upstreams.fake_upstream import FakeUpstream, serving_fake


@pytest.fixture
def registrar(organization: str, login: LocalLogin, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registrar]:
    """Ada, as she registers modules for acme."""
    monkeypatch.setenv("PUBLIC_URL", "http://127.0.0.1:1")
    reset_upstreams()
    ada = directory.identify(Subject(login.issuer, "ada"), organization=organization)
    accounts = FakeAccounts()
    yield Registrar(Administration(ada, "request-1", accounts), login.issuer, accounts.revoked_services, accounts.apps)
    monkeypatch.undo()
    reset_upstreams()


@pytest.fixture
def fake() -> Iterator[FakeUpstream]:
    """A server of two tools."""
    with serving_fake() as fake:
        fake.says["tools/list"] = {"tools": [tool("find_note"), tool("drop_note", readOnlyHint=False)]}
        yield fake


def tool(name: str, description: str = "About notes", **hints: bool) -> dict[str, Any]:
    """Return a tool that reads, unless hints say otherwise."""
    annotations = {"readOnlyHint": True} | hints
    return {
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
        "annotations": annotations,
    }
