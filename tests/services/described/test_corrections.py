from typing import Any

from mcpist_services.described.corrections import REMOVED
from mcpist_services.described.overlay import Overlay, load_overlay
from tests.services.described.library import library, overlay_of


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
    assert len(overlay_of(library(), earlier=first, operations=["*ook*"]).tools) == 5
