import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from mcpist.errors import InvalidRequest
from mcpist_services.described.compiled import ImportedApis
from mcpist_services.described.overlay import Overlay, load_overlay
from mcpist_services.described.overlay_files import REMOVED, compile_overlays, dump_overlay, load_file, load_folder
from mcpist_services.described.references import read_document
from tests.examples import examples
from tests.services.described.library import library, overlay_of


def test_a_file_holds_all_of_an_overlay(tmp_path: Path) -> None:
    overlay = overlay_of(library())
    (tmp_path / "library.yaml").write_text(dump_overlay(overlay))
    assert load_folder(tmp_path) == [overlay]


TEXTS = some.one_of(
    some.text(max_size=20),
    some.sampled_from(
        ["1e5", "012", "12345678", "8e91", "no", "~", "", "null", "2026-01-31", "0x1", "&a", "#", "- a", "a: b", "*"]
    ),
)


@settings(max_examples=examples(150))
@given(TEXTS)
def test_every_text_is_read_as_it_was_written(text: str) -> None:
    values = overlay_of(library()).dump()
    values["tools"]["list_books"]["parameters"]["tag"]["schema"] = {"enum": [text]}
    try:
        written = dump_overlay(load_overlay(values)).encode()
    except UnicodeEncodeError:
        return
    found: Any = read_document(written)
    assert found["tools"]["list_books"]["parameters"]["tag"]["schema"]["enum"] == [text]


@pytest.mark.parametrize(
    ("change", "place", "problem"),
    [
        ({"host": "ftp://x"}, "library.yaml: host", "not https"),
        ({"host": "https://10.0.0.1"}, "library.yaml: host", "address of the internet"),
        ({"secret": "s3cret"}, "library.yaml: secret", "no such field"),
        ({"name": "other"}, "library.yaml: name", "the file is named library.yaml"),
        ({"tools": {}}, "library.yaml: tools", "at least 1"),
        ({"security": {"kind": "header"}}, "library.yaml: security", "needs its parameter"),
        (
            {
                "security": {
                    "kind": "basic",
                    "oauth": {"authorize_url": "https://a.example", "token_url": "https://a.example"},
                }
            },
            "library.yaml: security",
            "sent as bearer",
        ),
    ],
)
def test_a_wrong_correction_is_refused_with_its_place(
    tmp_path: Path, change: dict[str, Any], place: str, problem: str
) -> None:
    import yaml

    file = tmp_path / "library.yaml"
    file.write_text(yaml.safe_dump(overlay_of(library()).dump() | change))
    with pytest.raises(InvalidRequest, match=problem) as refused:
        load_file(file)
    assert refused.value.details["field"] == place


@pytest.mark.parametrize("name", ["Host", "authorization", "Transfer-Encoding", "bad name"])
def test_no_correction_sets_a_header_of_the_connection(name: str) -> None:
    values = overlay_of(library()).dump()
    values["tools"]["get_book"]["headers"] = {name: "x"}
    with pytest.raises(InvalidRequest, match="no header that a tool may set"):
        load_overlay(values)


def test_the_name_of_a_service_or_of_a_provider_is_taken(tmp_path: Path) -> None:
    for name in ("github", "google", "atlassian", "modules", "batch"):
        file = tmp_path / f"{name}.yaml"
        file.write_text(dump_overlay(overlay_of(library(), name=name)))
        with pytest.raises(InvalidRequest, match="another module, service or provider"):
            load_file(file)


def test_the_published_schema_takes_what_an_import_writes() -> None:
    from jsonschema import Draft202012Validator

    schema = json.loads((Path(__file__).parents[3] / "layers/config/apis.schema.json").read_text())
    overlay = overlay_of(library()).dump()
    assert not list(Draft202012Validator(schema).iter_errors(overlay))
    assert list(Draft202012Validator(schema).iter_errors(overlay | {"hosts": []}))


def test_the_functions_read_what_was_compiled(tmp_path: Path) -> None:
    overlay = overlay_of(library())
    compile_overlays([overlay], tmp_path)
    apis = ImportedApis(tmp_path)
    assert apis.names == ("library",)
    assert apis.account("library") == overlay.account
    assert list(apis.source.index.modules["library"].tools) == list(overlay.tools)
    assert apis.source.module("library").tools["get_book"].input_schema["required"] == ["book_id"]
    compile_overlays([], tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_host_of_this_machine_is_only_for_a_deployment_on_it(tmp_path: Path) -> None:
    overlay = overlay_of(library(), server="http://127.0.0.1:9000")
    with pytest.raises(InvalidRequest, match="not https"):
        compile_overlays([overlay], tmp_path)
    compile_overlays([overlay], tmp_path, loopback=True)
    with pytest.raises(InvalidRequest, match="not https"):
        ImportedApis(tmp_path).source.module("library")


def corrected(**changes: Any) -> Overlay:
    """The library's overlay, as a person corrected it."""
    values = overlay_of(library()).dump()
    tools = values["tools"]
    tools["lend_book"] = {
        **tools.pop("create_loan"),
        "effect": "writes",
        "review": [],
        "description": "Lend a book to a reader.",
    }
    del tools["delete_book"]
    return load_overlay(values | changes)


def test_a_second_import_changes_nothing_where_nothing_changed() -> None:
    first = overlay_of(library())
    assert overlay_of(library(), earlier=first) == first
    person = corrected()
    second = overlay_of(library(), earlier=person)
    assert second.tools == person.tools
    assert overlay_of(library(), earlier=second) == second


def test_corrections_stay_after_the_vendors_change() -> None:
    described = library()
    lend = described["paths"]["/books/{book-id}/loans"]["post"]
    lend["summary"] = "Lend it"
    schema = lend["requestBody"]["content"]["application/x-www-form-urlencoded"]["schema"]
    schema["properties"]["until"] = {"type": "string", "format": "date"}
    second = overlay_of(described, earlier=corrected(title="Our library"))
    rule = second.tools["lend_book"]
    assert (rule.effect, rule.description) == ("writes", "Lend a book to a reader.")
    assert "until" in rule.parameters
    assert rule.review == ("the vendor changed description, which you had corrected",)
    assert second.title == "Our library"


def test_a_removed_tool_stays_away_and_a_new_operation_comes() -> None:
    described = library()
    described["paths"]["/readers"] = {"get": {"summary": "List readers", "responses": {}}}
    second = overlay_of(described, earlier=corrected())
    assert "delete_book" not in second.tools
    assert second.left_out["DELETE /books/{book-id}"] == REMOVED
    assert "get_readers" in second.tools


def test_an_operation_that_the_vendor_removed_goes() -> None:
    described = library()
    del described["paths"]["/books/{book-id}/loans"]
    second = overlay_of(described, earlier=corrected())
    assert "lend_book" not in second.tools


def test_no_import_moves_the_credential_to_another_server() -> None:
    moved = library(servers=[{"url": "https://collector.example"}])
    second = overlay_of(moved, earlier=overlay_of(library()))
    assert second.host == "https://api.library.example/v1"
    assert second.review == ("the description names https://collector.example",)


def test_the_earlier_globs_hold_until_others_are_given() -> None:
    first = overlay_of(library(), operations=["listBooks"])
    assert list(overlay_of(library(), earlier=first).tools) == ["list_books"]
    assert len(overlay_of(library(), earlier=first, operations=["*ook*"]).tools) == 6
