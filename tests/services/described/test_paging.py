import time
from typing import Any

import pytest

from mcpist.tools.declare.call import Call, ServiceResponse
from mcpist_services.described.overlay import PagingRule
from mcpist_services.described.paging import paging_of
from scripts.reference import overview, page
from tests.services.described.library import library, module_of, overlay_of


def test_an_imported_api_has_a_page_like_a_written_service() -> None:
    found = module_of(library())
    text = page(found)
    assert "## delete_book (destroys)" in text
    assert "Lists (`...paging`) also take" in text
    assert "| [library](library.md) | 6 | Books, their loans and their readers. |" in overview([found])


@pytest.mark.parametrize("part", ["<", "<>;", "<>;a rel=nex"])
def test_a_link_header_of_many_beginnings_is_read_in_no_time(part: str) -> None:
    rule = PagingRule(kind="link", position=("page",))
    answer = ServiceResponse(200, {"link": part * (90_000 // len(part))}, [])
    began = time.process_time()
    assert paging_of(rule).next_page(Call("GET", "/books"), answer, 1) == {}
    assert time.process_time() - began < 1  # five to thirty where each beginning is read to the end


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ({"description": "The URL of the next page"}, "next_url"),
        ({"example": "https://api.library.example/v1/books?cursor=2"}, "next_url"),
        ({"format": "uri"}, "next_url"),
        ({"description": "Where the next page begins"}, "cursor"),
    ],
)
def test_a_next_field_is_an_address_where_its_description_says_so(said: dict[str, Any], kind: str) -> None:
    described = library()
    fields = described["components"]["schemas"]["Page"]["properties"]
    fields["next"] = {"type": "string", **said}
    del fields["next_cursor"]
    paging = overlay_of(described).tools["list_books"].paging
    assert paging is not None
    assert (paging.kind, paging.field) == (kind, "next")


def test_a_next_field_that_is_an_object_holds_the_cursor() -> None:
    described = library()
    fields = described["components"]["schemas"]["Page"]["properties"]
    del fields["next_cursor"]
    after = {"type": "object", "properties": {"after": {"type": "string"}}}
    fields["paging"] = {"type": "object", "properties": {"next": after}}
    paging = overlay_of(described).tools["list_books"].paging
    assert paging is not None
    assert (paging.kind, paging.field) == ("cursor", "paging.next.after")
