"""Steps of a registered module: their results are referred to, and end when an administrator removes the module."""

import json

import pytest

from infra.local.login import LocalLogin
from mcpist.caller import Subject
from mcpist.people import directory
from mcpist.people.administration import Administration
from mcpist_services.rag.document_store import DocumentStore
from tests.core.people.conftest import FakeAccounts
from tests.services.described.library import library
from tests.services.registered.people import Registrar
from tests.step_runner.ledger_batch import Write, enter, entry, error_of, has_settled, outcome


@pytest.fixture
def registrar(organization: str, login: LocalLogin) -> Registrar:
    """Ada, who registered an API that takes no accounts, and put it into the members' role."""
    ada = directory.identify(Subject(login.issuer, "ada"), organization=organization)
    registrar = Registrar(Administration(ada, "request-1", FakeAccounts()), login.issuer, [])
    described = library()
    described["security"] = []
    described["components"].pop("securitySchemes")
    for path in described["paths"].values():
        for operation in path.values():
            if isinstance(operation, dict):
                operation.pop("security", None)
    registrar.register(name="library", openapi=described)
    registrar.grant("library")
    directory.access_cache.clear()
    return registrar


def test_a_step_of_a_removed_module_fails_and_says_that_there_is_none(write: Write, registrar: Registrar) -> None:
    write(("list_books", {}, set()), step0={"module": "library"})
    registrar.unregister("library")
    directory.access_cache.clear()
    enter()
    assert (outcome(), error_of(entry()).code) == ("failed", "MODULE_NOT_FOUND")


@pytest.mark.parametrize("removed", [False, True])
def test_a_later_step_takes_the_columns_of_a_registered_apis_rows(
    write: Write, registrar: Registrar, *, removed: bool
) -> None:
    params = {"path": "notes.md", "content": "${step0.books[0].title}" if removed else "${step0.items[0].title}"}
    write(("list_books", {}, set()), ("put_doc", params, {0}), step0={"module": "library"})
    has_settled(0, json.dumps({"books": [{"id": 1, "title": "Emma"}]}).encode())
    if removed:
        registrar.unregister("library")
        directory.access_cache.clear()
    enter(step=1)
    assert outcome(1) == "succeeded", entry(1).error
    stored = DocumentStore("acme").document("notes.md")
    assert "Emma" in str(stored)
