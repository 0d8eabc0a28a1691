import json
from typing import Any

import pytest

from mcpist.errors import InvalidRequest
from mcpist.tools.declare.call import Call
from mcpist_services.described import description
from mcpist_services.described.description import DescriptionFile, parse_files
from mcpist_services.described.module import module
from mcpist_services.described.overlay import Overlay
from mcpist_services.described.proposal import propose
from mcpist_services.described.references import MAX_API_BYTES, bundle
from tests.services.conversation import work_of
from tests.services.described.library import answers, library, takes

READER = {"type": "object", "properties": {"id": {"type": "string"}, "name": {"type": "string"}}}
OAUTH = {"authorizationUrl": "https://a.example.com/a", "tokenUrl": "https://a.example.com/t"}


def oauth(*scopes: str) -> dict[str, Any]:
    return {"type": "oauth2", "flows": {"authorizationCode": OAUTH | {"scopes": dict.fromkeys(scopes, "")}}}


def readers(**changes: Any) -> dict[str, Any]:
    """The second file of the library's API: what its names mean is its own."""
    paths: dict[str, Any] = {
        "/readers": {
            "get": {"operationId": "listReaders", "responses": answers({"type": "array", "items": READER})},
            "post": {
                "operationId": "createBook",
                "summary": "Add a reader",
                "requestBody": takes({"$ref": "#/components/schemas/Book"}),
                "responses": answers(READER, "201"),
            },
        },
        "/books/{book-id}/history": {
            "parameters": [{"name": "book-id", "in": "path", "required": True, "schema": {"type": "string"}}],
            "get": {"responses": answers({"$ref": "#/components/schemas/Book"})},
        },
    }
    return library(paths=paths, **changes) | {
        "components": {"schemas": {"Book": READER}, "securitySchemes": library()["components"]["securitySchemes"]}
    }


def joined_overlay(*files: dict[str, Any]) -> Overlay:
    sources = [DescriptionFile(f"{place}.json", json.dumps(one).encode()) for place, one in enumerate(files)]
    return propose(parse_files(sources), "library")


def test_the_files_of_one_api_are_one_module() -> None:
    overlay = joined_overlay(library(), readers())
    assert {"list_books", "list_readers", "add_reader", "get_history"} <= overlay.tools.keys()
    assert (overlay.title, overlay.host) == ("Library", "https://api.library.example/v1")
    assert set(overlay.tools["add_reader"].parameters) == {"id", "name"}
    assert "isbn" in overlay.tools["add_book"].parameters
    assert work_of(module(overlay), "get_history", book_id="a/b") == Call("GET", "/books/a%2Fb/history")


def test_each_file_keeps_its_own_server_and_credential() -> None:
    elsewhere = joined_overlay(library(), readers(servers=[{"url": "https://up.example.com"}]))
    assert elsewhere.left_out["GET /readers"].startswith("it is on another server, https://up.example.com")
    free = joined_overlay(library(), readers(security=[{"other": []}]))
    assert free.left_out["GET /readers"].startswith("it needs the credential")


def test_scopes_of_all_files_are_those_of_one_consent() -> None:
    files = [library(security=[{"key": ["a"]}]), readers(security=[{"key": ["b"]}])]
    for file, scope in zip(files, "ab", strict=True):
        file["components"]["securitySchemes"] = {"key": oauth(scope)}
    overlay = joined_overlay(*files)
    assert (overlay.tools["list_books"].scopes, overlay.tools["list_readers"].scopes) == (("a",), ("b",))


def test_files_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(InvalidRequest, match=r"GET /books is an operation of 0\.json as well") as refused:
        joined_overlay(library(), library())
    assert refused.value.details["field"] == "1.json"
    other = readers()
    other["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    with pytest.raises(InvalidRequest, match="its security scheme key is another"):
        joined_overlay(library(), other)
    with pytest.raises(InvalidRequest, match=r"1\.json: description: it is no OpenAPI"):
        joined_overlay(library(), {})


def test_files_are_together_no_larger_than_one_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    half = b" " * (MAX_API_BYTES // 2 + 1)
    with pytest.raises(InvalidRequest, match="larger than 16 MB together"):
        parse_files([DescriptionFile("a", half), DescriptionFile("b", half)])
    monkeypatch.setattr(description, "MAX_API_VALUES", bundle(json.loads(json.dumps(library())), None))
    parse_files([DescriptionFile("a", json.dumps(library()).encode())])
    with pytest.raises(InvalidRequest, match="larger together than one may be"):
        joined_overlay(library(), readers())
