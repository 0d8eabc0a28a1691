"""APIs that an import knows by name."""

from dataclasses import replace
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path

import pytest

from infra.cli.api_trial import try_out
from mcpist.oauth.provider import check_public_url
from mcpist_services.definitions import check_module_name
from mcpist_services.described.description import parse
from mcpist_services.described.overlay_files import provider_names
from mcpist_services.described.proposal import propose
from mcpist_services.described.ready_apis import READY_APIS, ReadyApi
from tests.services.described.library import library, overlay_of

# The documents that Google's own client for Python ships; it is no dependency of ours.
DOCUMENTS = {"gmail": "gmail.v1", "google_drive": "drive.v3", "google_sheets": "sheets.v4", "google_docs": "docs.v1"}


def test_each_has_a_public_address_and_a_name_of_its_own() -> None:
    for name, ready in READY_APIS.items():
        check_module_name(name, provider_names())
        assert check_public_url(ready.source), name
        assert ready.operations, name


def test_its_columns_are_those_of_a_correction() -> None:
    ready = ReadyApi("", (), {"GET /books": ("title", "id"), "GET /none": ("id",)})
    overlay = ready.with_columns(overlay_of(library()))
    assert overlay.tools["list_books"].shows == ("title", "id")
    assert overlay.tools["get_book"] == overlay_of(library()).tools["get_book"]


@pytest.mark.skipif(find_spec("googleapiclient") is None, reason="google-api-python-client is not installed")
@pytest.mark.parametrize("name", list(DOCUMENTS))
def test_all_that_is_ready_stands_the_trial_of_an_import(name: str) -> None:
    folder = Path(str(find_spec("googleapiclient").origin)).parent  # type: ignore[union-attr]  # it is not skipped
    ready = READY_APIS[name]
    content = (folder / f"discovery_cache/documents/{DOCUMENTS[name]}.json").read_bytes()
    description = parse(content, operations=ready.operations)
    overlay = ready.with_columns(propose(description, name, operations=ready.operations))
    found = try_out(description, overlay)
    assert found.passed == found.chains > 0
    assert len(found.problems) <= 0.15 * len(overlay.tools)
    assert set(ready.shows) <= {rule.operation for rule in overlay.tools.values()}
    for glob in ready.operations:
        assert any(fnmatchcase(one.id, glob) for one in description.operations), glob
    assert replace(ready, shows={}).with_columns(overlay) == overlay
