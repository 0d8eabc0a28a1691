from typing import Any

import pytest

from mcpist.caller import Role
from mcpist.errors import FileTooLarge, InvalidArguments
from mcpist.files.answers import keep_download
from mcpist.files.content import MAX_CONTENT_BYTES, FileContent
from mcpist.files.parameters import load_arguments, reference_names
from mcpist.render.answer import compact
from mcpist.render.shows import DOWNLOADED
from mcpist.running.send import request_body
from mcpist.tools.declare.call import Call, FilePart, ServiceResponse
from mcpist.tools.search.index import ToolEntry
from mcpist_services.described.module import module
from mcpist_services.described.overlay import load_overlay
from tests.core.sample import caller
from tests.services.conversation import converse, work_of
from tests.services.described.library import answers, library, module_of, one_operation, overlay_of, takes

LIBRARY = module_of(library())


def call_of(described: dict[str, Any], **arguments: Any) -> Call:
    """The Call of the one tool of a description."""
    found = module_of(described)
    (tool,) = found.tools.values()
    work = tool.describe_work(tool.validate(arguments))
    assert isinstance(work, Call)
    return work


def test_an_operation_builds_the_call_that_a_written_tool_would() -> None:
    assert work_of(LIBRARY, "get_book", book_id="a/b") == Call("GET", "/books/a%2Fb")
    assert work_of(LIBRARY, "delete_book", book_id="1") == Call("DELETE", "/books/1")
    assert work_of(LIBRARY, "add_book", title="Emma", isbn=None) == Call(
        "POST", "/books", json={"title": "Emma", "isbn": None}
    )
    assert work_of(LIBRARY, "create_loan", path_book_id="1", reader="Ada", body_book_id=2) == Call(
        "POST", "/books/1/loans", form={"reader": "Ada", "book-id": "2"}
    )


FORM = {
    "type": "object",
    "required": ["file"],
    "properties": {
        "file": {"type": "string", "format": "binary", "description": "The cover."},
        "pages": {"type": "array", "items": {"contentMediaType": "image/png"}},
        "tags": {"type": "array", "items": {"type": "string"}},
        "about": {"type": "object"},
        "public": {"type": "boolean"},
        "note": {"type": "string", "nullable": True},
    },
}


def test_a_multipart_body_takes_files_beside_other_fields() -> None:
    described = one_operation("post", requestBody=takes(FORM, "multipart/form-data"))
    (tool,) = module_of(described).tools.values()
    assert tool.input_schema["properties"]["file"] == {
        "type": "string",
        "format": "file-content",
        "description": "The cover",
    }
    picture = FileContent(b"\x89PNG", "image/png", "cover.png")
    call = call_of(
        described, file=picture, pages=["a page", picture], tags=["a", "b"], about={"a": 1}, public=True, note=None
    )
    assert call == Call(
        "POST",
        "/things",
        multipart={
            "file": FilePart("cover.png", picture),
            "pages": [FilePart("pages.txt", FileContent(b"a page", "text/plain")), FilePart("cover.png", picture)],
            "tags": ["a", "b"],
            "about": '{"a":1}',
            "public": "true",
        },
    )
    assert request_body(call)["headers"]["content-type"].startswith("multipart/form-data; boundary=")
    assert tool.input_schema["properties"]["pages"] == {
        "type": "array",
        "items": {"type": "string", "format": "file-content"},
    }
    for wrong in ({"tags": ["a"]}, {"file": picture, "pages": [picture, {}]}):
        with pytest.raises(InvalidArguments):
            call_of(described, **wrong)


def test_a_body_that_is_no_json_is_a_file() -> None:
    cover = FileContent(b"\x89PNG", "image/png")
    assert work_of(LIBRARY, "update_cover", book_id="1", body=cover) == Call(
        "PUT", "/books/1/cover", content=cover, headers={"content-type": "image/png"}
    )
    described = one_operation("post", requestBody=takes({"type": "string"}, "text/*"))
    assert call_of(described, body="a,b") == Call("POST", "/things", content=FileContent(b"a,b", "text/plain"))


def test_an_answer_that_is_no_json_is_kept_as_a_file() -> None:
    described = one_operation(responses={"200": {"content": {"application/pdf": {}, "text/csv": {}}}})
    assert call_of(described) == Call("GET", "/things", download=True)
    (tool,) = module_of(described).tools.values()
    assert (tool.effect, tool.shows) == ("reads", DOWNLOADED)
    both = one_operation(responses={"200": {"content": {"application/pdf": {}, "application/json": {}}}})
    assert not call_of(both).download


@pytest.mark.usefixtures("aws")
def test_a_file_of_the_caller_is_sent_by_its_reference() -> None:
    uma = caller(Role("everything", modules=("*",)))
    (tool,) = module_of(one_operation("post", requestBody=takes(FORM, "multipart/form-data"))).tools.values()
    content = FileContent(b"\x89PNG", "image/png", "cover.png")
    stored = keep_download(uma, content)["file"]
    reference = {"path": stored["path"], "sha256": stored["sha256"]}
    given = {"file": reference, "pages": ["a page", reference, reference]}
    assert reference_names(tool.input_schema, given) == {"file", "pages"}
    work = tool.describe_work(tool.validate(load_arguments(uma, tool.input_schema, given)))
    assert isinstance(work, Call)
    assert work.multipart is not None
    assert work.multipart["file"] == FilePart("cover.png", content)
    assert work.multipart["pages"] == [
        FilePart("pages.txt", FileContent.of_text("a page")),
        *[FilePart("cover.png", content)] * 2,
    ]


@pytest.mark.usefixtures("aws")
def test_the_files_of_a_list_are_together_no_larger_than_one() -> None:
    uma = caller(Role("everything", modules=("*",)))
    (tool,) = module_of(one_operation("post", requestBody=takes(FORM, "multipart/form-data"))).tools.values()
    stored = keep_download(uma, FileContent(bytes(MAX_CONTENT_BYTES // 2), "image/png", "cover.png"))["file"]
    reference = {"path": stored["path"], "sha256": stored["sha256"]}
    assert len(load_arguments(uma, tool.input_schema, {"pages": [reference] * 2})["pages"]) == 2
    with pytest.raises(FileTooLarge):
        load_arguments(uma, tool.input_schema, {"pages": [reference] * 3})


def test_a_list_is_read_page_by_page() -> None:
    pages = [{"books": [{"id": 1}, {"id": 2}], "next_cursor": "n"}, {"books": [{"id": 3}]}]
    sent, found = converse(work_of(LIBRARY, "list_books", tag=["a", "b"], query_limit="s"), *pages)
    assert [call.query for call in sent] == [
        {"page_size": 2, "tag": ["a", "b"], "limit": "s"},
        {"page_size": 2, "tag": ["a", "b"], "limit": "s", "cursor": "n"},
    ]
    assert found["books"] == [{"id": 1}, {"id": 2}, {"id": 3}]


def test_a_tool_is_listed_like_a_written_one() -> None:
    assert ToolEntry.of(LIBRARY.tools["list_books"], LIBRARY.about).line() == (
        "list_books(query_limit?, tag?: [string], ...paging) -> "
        "id, title, state, updated_at, html_url, author, sequel, isbn: List books."
    )
    assert ToolEntry.of(LIBRARY.tools["delete_book"], LIBRARY.about).line() == (
        "delete_book(book_id) -> done: !! DELETE /books/{book-id}."
    )
    assert LIBRARY.tools["add_book"].examples[0]["parameters"] == {"title": "example"}


def test_what_the_overlay_calls_noise_is_not_shown() -> None:
    overlay = overlay_of(library()).dump()
    overlay["tools"]["get_book"]["shows"] = ["id", "author"]
    shows = module(load_overlay({**overlay, "noise": ["author.*_id", "id"]})).tools["get_book"].shows
    assert compact({"id": 1, "author": {"name": "Ada", "node_id": "x"}}, shows) == "author{name}: Ada"


def test_arguments_are_checked_against_the_vendors_schema() -> None:
    tool = LIBRARY.tools["add_book"]
    with pytest.raises(InvalidArguments, match="title: Field required"):
        tool.validate({})
    with pytest.raises(InvalidArguments, match="there is no such field"):
        tool.validate({"title": "Emma", "id": "1"})
    with pytest.raises(InvalidArguments, match="sequel\\.title: Field required"):
        tool.validate({"title": "Emma", "sequel": {"state": "in"}})
    tool.check({"state": "in"}, ["title"])
    with pytest.raises(InvalidArguments, match="state: it must be one of"):
        tool.check({"state": "lost"}, ["title"])


STYLES = [
    ({"schema": {"type": "array", "items": {}}}, [1, "b"], {"p": ["1", "b"]}),
    ({"schema": {"type": "array", "items": {}}, "explode": False}, [1, "b"], {"p": "1,b"}),
    ({"schema": {"type": "array", "items": {}}, "style": "spaceDelimited"}, ["a", "b"], {"p": "a b"}),
    ({"schema": {"type": "array", "items": {}}, "style": "pipeDelimited"}, ["a", "b"], {"p": "a|b"}),
    ({"schema": {"type": "object"}, "style": "deepObject"}, {"a": 1, "b": True}, {"p[a]": "1", "p[b]": "true"}),
    ({"schema": {"type": "object"}}, {"a": "x"}, {"a": "x"}),
    ({"content": {"application/json": {"schema": {}}}}, {"a": [1]}, {"p": '{"a":[1]}'}),
    ({"schema": {"type": "boolean"}}, True, {"p": "true"}),
]


@pytest.mark.parametrize(("stated", "value", "query"), STYLES)
def test_a_query_parameter_is_written_in_its_style(stated: dict[str, Any], value: Any, query: dict[str, Any]) -> None:
    parameters = [{"name": "p", "in": "query", **stated}]
    described = library(paths={"/a": {"get": {"parameters": parameters, "responses": answers({"type": "object"})}}})
    assert call_of(described, p=value).query == query


def test_headers_are_sent_and_one_with_a_single_value_is_no_argument() -> None:
    parameters = [
        {"name": "if-match", "in": "header", "schema": {"type": "string"}},
        {"name": "Api-Version", "in": "header", "required": True, "schema": {"enum": ["2026-01-31"]}},
        {"name": "Authorization", "in": "header", "required": True, "schema": {"type": "string"}},
    ]
    described = library(paths={"/a": {"get": {"parameters": parameters, "responses": answers({})}}})
    assert call_of(described, if_match="7").headers == {"Api-Version": "2026-01-31", "if-match": "7"}


def test_a_body_that_is_no_object_is_one_argument() -> None:
    body = takes({"type": "array", "items": {"type": "object"}}, "application/json-patch+json")
    described = library(paths={"/a": {"patch": {"requestBody": body, "responses": answers({})}}})
    call = call_of(described, body=[{"op": "remove"}])
    assert (call.json, call.headers) == ([{"op": "remove"}], {"content-type": "application/json-patch+json"})


@pytest.mark.parametrize(
    ("paging", "answers_", "positions"),
    [
        (
            {"kind": "offset", "field": "total", "position": ["offset"]},
            [{"items": [1, 2], "total": 3}, {"items": [3]}],
            2,
        ),
        ({"kind": "offset", "position": ["offset"]}, [{"items": [1, 2]}, {"items": []}], 2),
        ({"kind": "page", "position": ["page"]}, [{"items": [1, 2]}, {"items": [3]}], 2),
        ({"kind": "page", "position": ["page"], "first": 0}, [{"items": [1, 2]}, {"items": [3]}], 1),
        (
            {"kind": "next_url", "position": ["p"], "field": "next"},
            [{"items": [1], "next": "https://x/?p=2"}, {"items": []}],
            "2",
        ),
    ],
)
def test_each_kind_of_paging_finds_the_next_page(paging: dict[str, Any], answers_: list[Any], positions: Any) -> None:
    values = overlay_of(library()).dump()
    values["tools"]["list_books"] |= {"rows": "items", "paging": {"size": "n", "max_size": 2, **paging}}
    found = module(load_overlay(values))
    sent, _ = converse(work_of(found, "list_books"), *answers_)
    assert sent[1].query[paging["position"][0]] == positions


def test_the_link_header_is_followed_by_its_parameters_alone() -> None:
    values = overlay_of(library()).dump()
    values["tools"]["list_books"] |= {"rows": "", "paging": {"kind": "link", "position": ["page"]}}
    link = '<https://evil.example/books?page=2&token=x>; rel="next", <https://x/?page=9>; rel="last"'
    first = ServiceResponse(200, {"link": link}, [{"id": 1}])
    sent, _ = converse(work_of(module(load_overlay(values)), "list_books"), first, [])
    assert sent[1].path == "/books"
    assert sent[1].query == {"page": "2"}
