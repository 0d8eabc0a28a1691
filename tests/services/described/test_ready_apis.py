"""APIs that an import knows by name."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from infra.cli.api_trial import try_out
from mcpist.errors import InvalidRequest
from mcpist.oauth.provider import check_public_url
from mcpist_services.definitions import check_module_name
from mcpist_services.described.description import DescriptionFile, parse_files
from mcpist_services.described.overlay_files import provider_names
from mcpist_services.described.ready_apis import READY_APIS, ReadyApi
from mcpist_services.described.references import is_chosen
from mcpist_services.registered.catalogue import READY, READY_SERVERS, request_of
from mcpist_services.registered.catalogue import overlay_of as catalogue_overlay
from mcpist_services.registered.request import check, define
from tests.services.described.library import library, overlay_of

# The documents that Google's own client for Python ships; it is no dependency of ours.
DOCUMENTS = {"gmail": "gmail.v1", "google_drive": "drive.v3", "google_sheets": "sheets.v4", "google_docs": "docs.v1"}
ROOT = Path(__file__).parents[3]
SPECS = ROOT.parent / "shared/api-specs"
OWN_ADDRESSES = {"zendesk"}  # each customer has one
# Names of files there, where several entries have one.
FILES = {"outlook_mail": "microsoft_graph", "teams": "microsoft_graph"}


def test_each_has_a_public_address_and_a_name_of_its_own() -> None:
    documented = (ROOT / "docs/apis.md").read_text("utf-8")
    assert len(READY) == len({*READY})
    assert [name for name in READY if f"`{name}`" not in documented] == []
    for name in READY_SERVERS:
        check_module_name(name, provider_names())
        request = request_of(name)
        check(request)
        assert define(request)["server"]["headers"] == {"Authorization": f"grant:{name}"}
    with pytest.raises(InvalidRequest, match="figma"):
        request_of("figmo")
    for name, ready in READY_APIS.items():
        check_module_name(name, provider_names())
        for source in ready.sources:
            assert check_public_url(source), name
        assert ready.operations, name


def test_its_columns_are_those_of_a_correction() -> None:
    shows = {"GET /books": ("title", "id"), "GET /none": ("id",)}
    ready = ReadyApi((), (), shows, optional={"POST *": ("title", "none")})
    overlay = ready.corrected(overlay_of(library()))
    assert overlay.tools["list_books"].shows == ("title", "id")
    assert not overlay.tools["add_book"].parameters["title"].required
    assert overlay.tools["get_book"] == overlay_of(library()).tools["get_book"]


def files_of(name: str) -> dict[str, bytes]:
    """Return the vendor's own documents: of Google's client for Python, or beside the checkout; skip without them."""
    if name in DOCUMENTS and (client := find_spec("googleapiclient")):
        folder = Path(str(client.origin)).parent / "discovery_cache/documents"
        return {name: (folder / f"{DOCUMENTS[name]}.json").read_bytes()}
    kind = "graphql" if "graphql" in READY_APIS[name].sources[0] else "openapi"
    found = {file.name: file.read_bytes() for file in SPECS.glob(f"{FILES.get(name, name)}.{kind}*")}
    if not found:
        pytest.skip(f"the description of {name} is not on this machine")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", list(READY_APIS))
def test_all_that_is_ready_stands_the_trial_of_an_import(name: str) -> None:
    files, ready = files_of(name), READY_APIS[name]
    description = parse_files([DescriptionFile(*file) for file in files.items()], ready.operations)
    overlay = catalogue_overlay(name, files, "https://api.example.com" if name in OWN_ADDRESSES else "")
    found = try_out(description, overlay)
    assert found.passed == found.chains
    assert found.chains or any(rule.document for rule in overlay.tools.values())
    assert len(found.problems) <= 0.15 * len(overlay.tools)
    operations = {rule.operation for rule in overlay.tools.values()}
    assert ready.shows.keys() | ready.names.keys() <= operations
    for glob in ready.operations:
        assert any(is_chosen((glob,), f"{one.method} {one.path}", one.id) for one in description.operations), glob
