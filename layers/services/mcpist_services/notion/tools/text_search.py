"""The text inside pages, which Notion's own search does not read."""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from mcpist.errors import InvalidRequest, McpistError
from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call, Calls, PartialList, given, path
from mcpist_services.notion.module import SOURCE_EXAMPLE, Id, notion, row, source_path

MAX_LINES = 5  # of a page
MAX_EXCERPT_CHARACTERS = 200
MATCHES = shows("id", "title", "created", "matches", "url")


@notion.reads(
    MATCHES,
    "retrieve-page-markdown",
    uses=({}, {"title": "Roadmap", "max_pages": 5}, {"data_source_id": SOURCE_EXAMPLE}),
)
def search_text(
    text: Annotated[str, Field(min_length=2), "Found in any case, e.g. deadline"],
    title: Annotated[str | None, "Only in pages with these words in their title, e.g. Roadmap"] = None,
    data_source_id: Annotated[Id | None, f"Instead: only in this data source's rows, e.g. {SOURCE_EXAMPLE}"] = None,
    max_pages: Annotated[int, Field(ge=1, le=50), "Pages to read, each a request"] = 20,
) -> Calls:
    """Search the text inside pages, those last edited first, and show the lines with it. It reads page by page."""
    if title and data_source_id:
        raise InvalidRequest(field="title or data_source_id", problem="give one of them, or neither")
    return _read_pages(_candidates(title, data_source_id, max_pages), text)


def _candidates(title: str | None, data_source_id: str | None, max_pages: int) -> Call:
    newest = {"timestamp": "last_edited_time", "direction": "descending"}
    if data_source_id:
        return Call("POST", source_path(data_source_id, "/query"), json={"sorts": [newest], "page_size": max_pages})
    only = {"filter": {"property": "object", "value": "page"}, "sort": newest, "page_size": max_pages}
    return Call("POST", "/v1/search", json=given(query=title) | only)


def _read_pages(candidates: Call, text: str) -> Calls:
    found = (yield candidates).json
    pages = [page for page in found["results"] if page["object"] == "page"]
    rows: list[dict[str, Any]] = []
    for number, page in enumerate(pages):
        try:
            content = (yield Call("GET", path("/v1/pages/{page_id}/markdown", page_id=page["id"]))).json["markdown"]
        except McpistError as error:
            if not number:  # with nothing read, the error is the answer
                raise
            return PartialList(rows, f"Read {number} of {len(pages)} pages: {error.text().message}")
        if lines := list(_lines(content, text)):
            columns = {"title": row(page)["row"]["title"], "created": page["created_time"], "matches": lines}
            rows.append({"id": page["id"], "url": page["url"], **columns})
    more = f"Read {len(pages)} pages, and there are more: raise max_pages, or narrow by title."
    return PartialList(rows, more) if found.get("has_more") else rows


def _lines(content: str, text: str) -> Iterator[str]:
    """Yield the first lines with a text, each shortened around it."""
    wanted = text.casefold()
    matching = [line.strip() for line in content.splitlines() if wanted in line.casefold()]
    for line in matching[:MAX_LINES]:
        begin = max(line.casefold().find(wanted) - MAX_EXCERPT_CHARACTERS // 2, 0)
        yield line[begin : begin + MAX_EXCERPT_CHARACTERS]
