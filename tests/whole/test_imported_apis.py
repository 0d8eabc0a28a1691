"""An API that nobody wrote code for: listed, searched, connected, called and used in batches like any other."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.accounts import connect, disconnect
from tests.whole.conftest import McpUser
from tests.whole.library_server import KEY, LibraryServer


@pytest.fixture
def reader(user: McpUser, library_server: LibraryServer) -> Iterator[McpUser]:
    """Uma with a key of the library."""
    connect(user.deployment, "library", KEY, account_name="uma@library")
    library_server.received.clear()
    yield user
    disconnect(user.deployment, "library")


def test_its_tools_are_listed_and_found(user: McpUser) -> None:
    (listed,) = user.texts("get_module_schema", modules=["library"])
    assert "list_books(query_limit?, tag?: [string], ...paging) -> id, title" in listed
    assert "add_book(title, isbn?, state?: in|out, author?: object, sequel?: object) ->" in listed
    assert "delete_book" not in listed  # the role may not destroy
    (found,) = user.texts("get_module_schema", query="lend a book of the library")
    assert "library" in found


def test_a_call_without_a_key_says_where_to_connect_one(user: McpUser) -> None:
    result = user.call("call", module="library", tool="get_book", params={"book_id": "1"})
    assert result.is_error
    assert "CONNECTION_REQUIRED" in str(result)
    assert "/connect/library" in str(result)


def test_a_list_is_read_over_its_pages_with_the_key_in_its_header(
    reader: McpUser, library_server: LibraryServer
) -> None:
    answer = " ".join(reader.texts("call", module="library", tool="list_books", params={"limit": 3}))
    assert [f"Book {number}" in answer for number in (1, 2, 3, 4)] == [True, True, True, False]
    assert [path for _, path, _ in library_server.received] == [
        "/v1/books?page_size=2",
        "/v1/books?page_size=2&cursor=2",
    ]
    assert "canary" not in answer


def test_a_batch_chains_it_with_documents(reader: McpUser, library_server: LibraryServer) -> None:
    steps: list[dict[str, Any]] = [
        {"id": "books", "module": "library", "tool": "list_books", "params": {"limit": 2}},
        {"id": "book", "module": "library", "tool": "get_book", "params": {"book_id": "${books.items[1].id}"}},
        {"id": "docs", "module": "rag", "tool": "search_docs", "params": {"query": "${book.items[0].title}"}},
        {"id": "new", "module": "library", "tool": "add_book", "params": {"title": "About ${book.items[0].author}"}},
    ]
    summary, *_ = reader.texts("batch", commands="\n".join(map(json.dumps, steps)))
    assert "done, 4 of 4 steps" in summary, summary
    assert library_server.received[-1] == ("POST", "/v1/books", '{"title":"About Ada"}')


def test_a_file_takes_the_place_of_an_argument(reader: McpUser, library_server: LibraryServer) -> None:
    steps: list[dict[str, Any]] = [
        {"id": "book", "module": "library", "tool": "get_book", "params": {"book_id": "1"}},
        {"id": "copy", "module": "library", "tool": "add_book", "params": {"title": "x", "author": "${book.file}"}},
    ]
    summary, *_ = reader.texts("batch", commands="\n".join(map(json.dumps, steps)))
    assert "done, 2 of 2 steps" in summary, summary
    _, _, body = library_server.received[-1]
    assert json.loads(body)["author"]["title"] == "Book 1"


def test_wrong_arguments_are_refused_before_anything_is_sent(reader: McpUser, library_server: LibraryServer) -> None:
    result = reader.call("call", module="library", tool="add_book", params={"state": "lost", "title": "x"})
    assert "VALIDATION_ERROR" in str(result)
    assert not library_server.received


def test_a_key_that_is_refused_is_not_shown(user: McpUser) -> None:
    connect(user.deployment, "library", "wrong-canary-key")
    result = user.call("call", module="library", tool="get_book", params={"book_id": "1"})
    disconnect(user.deployment, "library")
    assert "RECONNECT_REQUIRED" in str(result)
    assert "canary" not in str(result)
