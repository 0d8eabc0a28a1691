"""A library's API: a description with one of each thing that an import must understand."""

import json
from copy import deepcopy
from typing import Any

from mcpist.tools.declare.module import Module
from mcpist_services.described.description import parse
from mcpist_services.described.module import module
from mcpist_services.described.overlay import Overlay
from mcpist_services.described.proposal import propose

SERVER = "https://api.library.example/v1"

BOOK = {
    "type": "object",
    "required": ["title"],
    "properties": {
        "id": {"type": "string", "readOnly": True},
        "title": {"type": "string"},
        "isbn": {"type": "string", "nullable": True},
        "state": {"type": "string", "enum": ["in", "out"]},
        "author": {"$ref": "#/components/schemas/Author"},
        "updated_at": {"type": "string", "format": "date-time", "readOnly": True},
        "html_url": {"type": "string", "format": "uri", "readOnly": True},
        "cover_image_url": {"type": "string", "format": "uri", "readOnly": True},
        "sequel": {"$ref": "#/components/schemas/Book"},
    },
}
PAGE = {
    "type": "object",
    "properties": {
        "books": {"type": "array", "items": {"$ref": "#/components/schemas/Book"}},
        "next_cursor": {"type": "string"},
    },
}
BOOK_ID = {"name": "book-id", "in": "path", "required": True, "schema": {"type": "string"}}


def answers(schema: dict[str, Any], status: str = "200") -> dict[str, Any]:
    """The responses of an operation."""
    return {status: {"description": "Done", "content": {"application/json": {"schema": schema}}}}


def takes(schema: dict[str, Any], kind: str = "application/json") -> dict[str, Any]:
    """The body of an operation."""
    return {"required": True, "content": {kind: {"schema": schema}}}


LIBRARY: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Library", "version": "1.2", "description": "Books, their loans and their readers. And more."},
    "servers": [{"url": SERVER}],
    "security": [{"key": []}],
    "paths": {
        "/books": {
            "get": {
                "operationId": "listBooks",
                "summary": "List books",
                "tags": ["Books"],
                "parameters": [
                    {"name": "cursor", "in": "query", "schema": {"type": "string"}},
                    {"name": "page_size", "in": "query", "schema": {"type": "integer", "maximum": 2}},
                    {"name": "limit", "in": "query", "schema": {"type": "string"}, "description": "A shelf. Or two."},
                    {"name": "tag", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
                ],
                "responses": answers({"$ref": "#/components/schemas/Page"}),
            },
            "post": {
                "operationId": "createBook",
                "summary": "Add a book",
                "requestBody": takes({"$ref": "#/components/schemas/Book"}),
                "responses": answers({"$ref": "#/components/schemas/Book"}, "201"),
            },
        },
        "/books/{book-id}": {
            "parameters": [BOOK_ID],
            "get": {
                "operationId": "getBook",
                "summary": "Get a book",
                "responses": answers({"$ref": "#/components/schemas/Book"}),
            },
            "delete": {"operationId": "deleteBook", "responses": {"204": {"description": "Gone"}}},
        },
        "/books/{book-id}/loans": {
            "post": {
                "operationId": "lend",
                "summary": "Frobnicate a loan",
                "parameters": [BOOK_ID],
                "requestBody": takes(
                    {
                        "type": "object",
                        "required": ["reader"],
                        "properties": {"reader": {"type": "string"}, "book-id": {"type": "integer"}},
                    },
                    "application/x-www-form-urlencoded",
                ),
                "responses": {"204": {"description": "Lent"}},
            }
        },
        "/books/{book-id}/cover": {
            "put": {
                "operationId": "putCover",
                "parameters": [BOOK_ID],
                "requestBody": takes({"type": "string", "format": "binary"}, "image/png"),
                "responses": {"204": {"description": "Stored"}},
            }
        },
    },
    "components": {
        "schemas": {
            "Author": {"type": "object", "properties": {"name": {"type": "string"}, "born": {"type": "integer"}}},
            "Book": BOOK,
            "Page": PAGE,
        },
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Library-Key"}},
    },
}


def library(**changes: Any) -> dict[str, Any]:
    """A description of the library's API that may be changed."""
    return deepcopy(LIBRARY) | changes


def content(description: dict[str, Any]) -> bytes:
    """A description as its file has it."""
    return json.dumps(description).encode()


def overlay_of(description: dict[str, Any], name: str = "library", **options: Any) -> Overlay:
    """The overlay that the import proposes."""
    return propose(parse(content(description)), name, **options)


def module_of(description: dict[str, Any]) -> Module:
    """The module of a description, as it is proposed."""
    return module(overlay_of(description))


def one_operation(method: str = "get", path: str = "/things", **stated: Any) -> dict[str, Any]:
    """The description of an API with one operation."""
    return library(paths={path: {method: {"responses": answers({"type": "object"}), **stated}}})
