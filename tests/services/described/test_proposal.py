from typing import Any

import pytest

from mcpist.errors import InvalidRequest
from mcpist_services.described.account_rule import Security
from mcpist_services.described.overlay import PagingRule
from mcpist_services.described.proposal import reviews
from tests.faults import for_each
from tests.services.described.library import answers, library, one_operation, overlay_of, takes


def test_operations_become_tools_with_names_effects_columns_and_paging() -> None:
    overlay = overlay_of(library())
    assert {name: (rule.operation, rule.effect) for name, rule in overlay.tools.items()} == {
        "list_books": ("GET /books", "reads"),
        "add_book": ("POST /books", "writes"),
        "get_book": ("GET /books/{book-id}", "reads"),
        "delete_book": ("DELETE /books/{book-id}", "destroys"),
        "create_loan": ("POST /books/{book-id}/loans", "destroys"),
        "update_cover": ("PUT /books/{book-id}/cover", "writes"),
    }
    listed = overlay.tools["list_books"]
    assert (listed.rows, listed.shows) == (
        "books",
        ("id", "title", "state", "updated_at", "html_url", "author.name as author", "sequel.title as sequel", "isbn"),
    )
    assert listed.paging == PagingRule(
        kind="cursor", size="page_size", max_size=2, position=("cursor",), field="next_cursor"
    )
    assert overlay.security == Security(kind="header", parameter="X-Library-Key")
    assert overlay.left_out == {}
    assert overlay.description == "Books, their loans and their readers."


def test_globs_choose_operations_by_id_path_or_tag() -> None:
    for glob in ("listBooks", "list*", "GET /books", "Book*"):
        assert list(overlay_of(library(), operations=[glob]).tools) == ["list_books"], glob
    with pytest.raises(InvalidRequest, match="no operation of the description fits none"):
        overlay_of(library(), operations=["none"])


def test_an_argument_that_is_named_like_ours_gets_its_place_before_its_name() -> None:
    parameters = overlay_of(library()).tools["list_books"].parameters
    assert {name: (one.place, one.wire) for name, one in parameters.items()} == {
        "query_limit": ("query", "limit"),
        "tag": ("query", ""),
    }


def test_arguments_that_would_share_a_name_get_their_places_before_it() -> None:
    parameters = overlay_of(library()).tools["create_loan"].parameters
    assert {name: (one.place, one.wire) for name, one in parameters.items()} == {
        "path_book_id": ("path", "book-id"),
        "reader": ("body", ""),
        "body_book_id": ("body", "book-id"),
    }


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        ("http://api.example.com", "not https"),
        ("https://10.0.0.1/api", "not an address of the internet"),
        ("https://169.254.169.254", "not an address of the internet"),
        ("https://vault.internal/api", "not an address of the internet"),
        ("http://127.0.0.1:9001", "not an address of the internet"),
        ("https://{tenant}.example.com", "is a template; name it: --server"),
        ("/v1", "is relative; name it: --server"),
        ("https://user:secret@example.com", "no plain URL"),
        ("https://example.com/?key=1", "a query or a fragment"),
        ("", "names no server; name it: --server"),
    ],
)
def test_a_server_that_no_credential_may_go_to_is_refused(server: str, problem: str) -> None:
    with pytest.raises(InvalidRequest, match=problem) as refused:
        overlay_of(library(servers=[{"url": server}] if server else []))
    assert refused.value.details["field"] == "#/servers"
    assert overlay_of(library(servers=[{"url": server}]), server="https://api.example.com").host


@pytest.mark.parametrize(
    ("described", "reason"),
    [
        (one_operation("options"), "its method is OPTIONS"),
        (one_operation(servers=[{"url": "https://up.example.com"}]), "on another server, https://up.example.com"),
        (one_operation(path="/oauth2/token", method="post"), "the token broker's task"),
        (one_operation(responses={"200": {"content": {"text/html": {}}}}), "it answers text/html, not JSON"),
        (one_operation(responses={"200": {"content": {"text/event-stream": {}}}}), "it answers text/event-stream"),
        (one_operation(security=[{"other": []}, {"key": [], "other": []}]), "it needs the credential"),
        (one_operation(parameters=[{"name": "s", "in": "cookie", "required": True}]), "the cookie s"),
        (one_operation(parameters=[{"name": "Host", "in": "header", "required": True}]), "the header Host"),
        (one_operation(path="/things/{id}"), "its path names"),
        (
            one_operation("post", requestBody=takes({"type": "string"}, "multipart/form-data")),
            "its form is no object",
        ),
        (
            one_operation("post", requestBody=takes({"properties": {"f": {"format": "binary"}}})),
            "its field f is a file",
        ),
    ],
)
def test_an_operation_that_no_tool_can_call_is_left_out_with_the_reason(described: dict[str, Any], reason: str) -> None:
    described["paths"] |= {"/books": library()["paths"]["/books"]}
    described["components"]["securitySchemes"]["other"] = {"type": "http", "scheme": "digest"}
    (found,) = overlay_of(described).left_out.values()
    assert reason in found


def test_of_many_flags_one_is_shown_whether_it_is_named_or_typed_like_one() -> None:
    fields = {"id": {"type": "string"}, "is_open": {"type": "string"}, "done": {"type": "boolean"}, "note": {}}
    described = one_operation(responses=answers({"type": "object", "properties": fields}))
    (tool,) = overlay_of(described).tools.values()
    assert tool.shows == ("id", "note", "is_open")


@for_each(
    ("method", "stated", "effect", "is_reviewed"),
    [
        ("get", {"summary": "Get things"}, "reads", False),
        ("get", {"summary": "Delete the things"}, "destroys", True),
        ("delete", {"summary": "Get things", "x-readOnly": True}, "destroys", False),
        ("put", {"summary": "Update a thing"}, "writes", False),
        ("put", {"summary": "Reset a thing"}, "destroys", True),
        ("post", {"summary": "Create a thing"}, "writes", False),
        ("post", {"summary": "Search things"}, "reads", True),
        ("post", {"summary": "Revoke a thing"}, "destroys", False),
        ("post", {"summary": "Frobnicate the thing", "operationId": "frobnicate"}, "destroys", True),
        ("post", {"summary": "Compute it", "x-readOnlyHint": True}, "reads", True),
        ("post", {"summary": "Create it", "x-mcp": {"annotations": {"destructiveHint": True}}}, "destroys", False),
        ("get", {"summary": "Get it", "x-openai-isConsequential": True}, "asks", False),
    ],
)
def test_an_effect_is_the_worst_that_verb_words_and_hints_allow(
    method: str, stated: dict[str, Any], effect: str, is_reviewed: bool
) -> None:
    overlay = overlay_of(one_operation(method, **stated))
    (rule,) = overlay.tools.values()
    assert rule.effect == effect
    assert bool(rule.review) == is_reviewed
    assert any(reviews(overlay).values()) == is_reviewed


def test_an_answer_that_may_show_secrets_is_marked() -> None:
    (rule,) = overlay_of(
        one_operation(
            path="/users/{id}/api-keys",
            parameters=[{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
        )
    ).tools.values()
    assert rule.reveals


PAGED = {"type": "object", "properties": {"items": {"type": "array", "items": {"type": "object"}}}}


@pytest.mark.parametrize(
    ("parameters", "fields", "headers", "kind"),
    [
        (["cursor", "limit"], {"next_cursor": {"type": "string"}}, [], "cursor"),
        (["pageToken"], {"nextPageToken": {"type": "string"}}, [], "cursor"),
        (["marker", "offset", "usemarker"], {"next_marker": {"type": "string"}}, [], "offset"),
        (["page"], {"next": {"type": "string", "format": "uri"}}, [], "next_url"),
        (["$top", "$skip"], {"@odata.nextLink": {"type": "string"}}, [], "next_url"),
        (["page", "per_page"], {}, ["Link"], "link"),
        (["offset", "limit"], {"total": {"type": "integer"}}, [], "offset"),
        (["page", "size"], {}, [], "page"),
        (["limit"], {}, [], None),
    ],
)
def test_paging_is_recognized(parameters: list[str], fields: dict[str, Any], headers: list[str], kind: str) -> None:
    described = one_operation(
        parameters=[{"name": name, "in": "query", "schema": {"type": "string"}} for name in parameters],
        responses=answers(PAGED | {"properties": PAGED["properties"] | fields}),
    )
    response = described["paths"]["/things"]["get"]["responses"]["200"]
    response["headers"] = {name: {"schema": {"type": "string"}} for name in headers}
    (rule,) = overlay_of(described).tools.values()
    assert (rule.paging.kind if rule.paging else None) == kind


def test_swagger_2_is_understood() -> None:
    described = {
        "swagger": "2.0",
        "info": {"title": "Library", "version": "1"},
        "host": "api.library.example",
        "basePath": "/v1",
        "schemes": ["http", "https"],
        "consumes": ["application/json"],
        "produces": ["application/json"],
        "securityDefinitions": {
            "oauth": {
                "type": "oauth2",
                "flow": "accessCode",
                "authorizationUrl": "https://login.library.example/authorize",
                "tokenUrl": "https://login.library.example/token",
                "scopes": {"read": "Read"},
            }
        },
        "security": [{"oauth": ["read"]}],
        "parameters": {"id": {"name": "id", "in": "path", "required": True, "type": "integer"}},
        "definitions": {"Book": {"type": "object", "properties": {"title": {"type": "string"}}}},
        "paths": {
            "/books/{id}": {
                "parameters": [{"$ref": "#/parameters/id"}],
                "put": {
                    "summary": "Update a book",
                    "parameters": [{"name": "book", "in": "body", "schema": {"$ref": "#/definitions/Book"}}],
                    "responses": {"200": {"schema": {"$ref": "#/definitions/Book"}}},
                },
                "get": {
                    "summary": "Get a book",
                    "parameters": [{"name": "with", "in": "query", "type": "array", "items": {"type": "string"}}],
                    "responses": {"200": {"schema": {"$ref": "#/definitions/Book"}}},
                },
            }
        },
    }
    overlay = overlay_of(described)
    assert overlay.host == "https://api.library.example/v1"
    assert overlay.security.oauth
    assert overlay.security.oauth.token_url == "https://login.library.example/token"
    update, get = overlay.tools["update_book"], overlay.tools["get_book"]
    assert {name: one.place for name, one in update.parameters.items()} == {"id": "path", "title": "body"}
    assert get.parameters["with"].style == "comma"
    assert (get.shows, get.scopes) == (("title",), ("read",))
