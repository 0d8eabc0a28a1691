"""Google discovery documents as a source of imports."""

from typing import Any

import pytest

from mcpist.errors import InvalidRequest
from mcpist.tools.declare.call import Call
from mcpist_services.described.module import module
from mcpist_services.described.overlay import PagingRule
from tests.services.conversation import work_of
from tests.services.described.library import content, overlay_of

SCOPES = [f"https://www.googleapis.com/auth/shelf{end}" for end in ("", ".readonly", ".meta")]


def path_parameter(**stated: Any) -> dict[str, Any]:
    return {"type": "string", "location": "path", "required": True, **stated}


def document(**changes: Any) -> dict[str, Any]:
    """A discovery document with one of each thing that differs from OpenAPI."""
    book_id = {"bookId": path_parameter()}
    page = {
        "pageToken": {"type": "string", "location": "query"},
        "maxResults": {"type": "integer", "maximum": "100", "location": "query"},
        "tag": {"type": "string", "repeated": True, "location": "query"},
    }
    methods = {
        "list": {"id": "shelf.books.list", "path": "books", "httpMethod": "GET", "scopes": SCOPES, "parameters": page,
                 "description": "Lists the books.", "response": {"$ref": "Page"}},
        "insert": {"id": "shelf.books.insert", "path": "books", "httpMethod": "POST", "scopes": SCOPES[:1],
                   "description": "Adds a book.", "request": {"$ref": "Book"}, "response": {"$ref": "Book"}},
        "delete": {"id": "shelf.books.delete", "path": "books/{bookId}", "httpMethod": "DELETE",
                   "description": "Deletes a book.", "parameters": book_id, "scopes": SCOPES[:1]},
        "export": {"id": "shelf.books.export", "path": "books/{bookId}/export", "httpMethod": "GET",
                   "parameters": book_id, "supportsMediaDownload": True},
        "get": {"id": "shelf.books.get", "path": "v1/{+name}", "httpMethod": "GET", "response": {"$ref": "Book"},
                "description": "Gets a book.", "parameters": {"name": path_parameter(pattern="^books/[^/]+$")}},
    }  # fmt: skip
    shelves = {
        "look": {"id": "shelf.shelves.look", "path": "v1/{+name}", "httpMethod": "GET", "response": {"$ref": "Book"},
                 "description": "Gets a shelf.", "parameters": {"name": path_parameter(pattern="^shelves/[^/]+$")}},
    }  # fmt: skip
    title = {"type": "string", "annotations": {"required": ["shelf.books.insert"]}}
    book = {"id": {"type": "string", "readOnly": True}, "title": title, "more": {"type": "any"}}
    books = {"type": "array", "items": {"$ref": "Book"}}
    return {
        "kind": "discovery#restDescription",
        "title": "Shelf",
        "version": "v1",
        "rootUrl": "https://shelf.googleapis.com/",
        "servicePath": "shelf/v1/",
        "auth": {"oauth2": {"scopes": {scope: {"description": ""} for scope in SCOPES}}},
        "schemas": {
            "Book": {"id": "Book", "type": "object", "properties": book},
            "Page": {"type": "object", "properties": {"books": books, "nextPageToken": {"type": "string"}}},
        },
        "resources": {"books": {"methods": methods}, "shelves": {"methods": shelves}},
    } | changes


def test_a_discovery_document_is_imported_like_a_description() -> None:
    overlay = overlay_of(document())
    assert {name: (rule.operation, rule.effect) for name, rule in overlay.tools.items()} == {
        "list_books": ("GET /books", "reads"),
        "add_book": ("POST /books", "writes"),
        "delete_book": ("DELETE /books/{bookId}", "destroys"),
        "export_book": ("GET /books/{bookId}/export", "reads"),
        "get_book": ("GET /v1/{name}", "reads"),
        "get_shelves": ("GET /v1/{name}#shelves", "reads"),
    }
    assert overlay.tools["export_book"].download
    assert (overlay.host, overlay.title) == ("https://shelf.googleapis.com/shelf/v1", "Shelf")
    assert overlay.security.oauth
    assert overlay.security.oauth.token_url == "https://oauth2.googleapis.com/token"
    listed, added = overlay.tools["list_books"], overlay.tools["add_book"]
    assert (listed.rows, listed.shows) == ("books", ("id", "title", "more"))
    assert listed.paging == PagingRule(
        kind="cursor", size="maxResults", max_size=100, position=("pageToken",), field="nextPageToken"
    )
    assert listed.parameters["tag"].spec["type"] == "array"
    assert (listed.scopes, added.scopes) == ((SCOPES[1],), (SCOPES[0],))
    assert {name: one.required for name, one in added.parameters.items()} == {"title": True, "more": False}


def test_a_name_of_several_segments_stays_one_in_its_path() -> None:
    assert work_of(module(overlay_of(document())), "get_book", name="books/a b") == Call("GET", "/v1/books/a%20b")


def test_a_malformed_discovery_document_is_refused() -> None:
    for wrong in ({"resources": {"books": {"methods": {"list": {}}}}}, {"schemas": 1}, {"rootUrl": 1, "schemas": []}):
        with pytest.raises(InvalidRequest) as refused:
            overlay_of(document(**wrong))
        assert refused.value.details["field"], content(wrong)
