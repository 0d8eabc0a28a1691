"""Paging: one list, as long as the caller wants it, over as many pages as the service makes of it."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from pydantic import Field

from mcpist.errors import InvalidRequest, McpistError, UpstreamUnavailable
from mcpist.render.shows import value_at
from mcpist.tools.call import Call, CallResponse, Calls, PartialList

MAX_ITEMS = 500
MAX_PAGES = 50  # of fetch_all
MAX_BYTES = 5_000_000  # of fetch_all

type Position = dict[str, Any]
type NextPage = Callable[[Call, CallResponse, int], Position]
type ExtraColumns = Callable[[Any, Any], dict[str, Any]]


def paging_parameters(
    limit: Annotated[int, Field(ge=1, le=MAX_ITEMS)] = 50,
    fetch_all: Annotated[bool, f"Read to the end, at most {MAX_PAGES} pages or {MAX_BYTES // 1_000_000} MB"] = False,
    cursor: Annotated[str | None, "Go on where a cut list ended: its answer says the cursor"] = None,
    page_size: Annotated[
        int | None, Field(ge=1, le=MAX_ITEMS, description="Items a request; chosen if left out")
    ] = None,
) -> None:
    """The parameters that every paged tool takes besides its own."""


@dataclass(frozen=True, slots=True)
class Paging:
    """How a service pages.

    `size` names the parameter of a page's length, `max_size` its largest value; `position_parameters` say where
    a page begins, and `next_page(request, answer, items)` reads them for the next page: none at the end. A POST
    takes them in its body. `extra_columns(item, page)` is what is put beside each item, in words that people read.
    """

    size: str
    max_size: int
    position_parameters: tuple[str, ...]
    next_page: NextPage
    extra_columns: ExtraColumns | None = None

    def page(self, call: Call, place: Position, items: int) -> Call:
        """The request for one page."""
        words = {self.size: items} | place if self.size else place
        if call.method == "POST":
            return replace(call, json={**(call.json or {}), **words})
        return replace(call, query={**call.query, **words})

    def parse(self, cursor: str) -> Position:
        """The place that a cursor stands for; a caller can say nothing else by it."""
        place = dict(parse_qsl(cursor))
        if not place or set(place) - set(self.position_parameters):
            raise InvalidRequest(field="cursor", problem="it is none that a cut list of this tool gave")
        return place


def by_field(field: str, place: str, *, more: str = "") -> NextPage:
    """The next page's place stands in a field of the answer; `more` names a claim that must hold besides."""

    def next_page(_: Call, answer: CallResponse, __: int) -> Position:
        found = value_at(answer.json, field)
        return {place: found} if found and (not more or value_at(answer.json, more)) else {}

    return next_page


def by_link(link: Callable[[CallResponse], str | None], *places: str) -> NextPage:
    """The next page's place stands in the query of a link: only these words are taken, so it leads to no other host."""

    def next_page(_: Call, answer: CallResponse, __: int) -> Position:
        query = dict(parse_qsl(urlsplit(link(answer) or "").query))
        return {place: query[place] for place in places if place in query}

    return next_page


def by_offset(place: str, *, last: Callable[[Any, int], bool]) -> NextPage:
    """The next page begins after the items read so far, unless the answer says that this is the last one."""

    def next_page(call: Call, answer: CallResponse, items: int) -> Position:
        words = call.json if call.method == "POST" else call.query
        begin = str(words.get(place, 0))
        if not begin.isdecimal():
            raise InvalidRequest(field="cursor", problem="it is no number")
        end = int(begin) + items
        return {place: end} if items and not last(answer.json, end) else {}

    return next_page


@dataclass(frozen=True, slots=True)
class PageRequest:
    """How much of a list a caller wants; the fields are those of `paging_parameters`."""

    limit: int = 50
    fetch_all: bool = False
    cursor: str | None = None
    page_size: int | None = None

    def page_size_for(self, max_size: int) -> int:
        """As few pages as the limit needs, equally long, so that the last one ends where the limit does."""
        max_size = min(self.page_size or max_size, max_size)
        return max_size if self.fetch_all else -(-self.limit // -(-self.limit // max_size))


def pages(service: str, call: Call, paging: Paging, rows: str, page_request: PageRequest) -> Calls:
    """The list that begins with this Call, in the shape of its last page; a PartialList where more of it is left."""
    place = paging.parse(page_request.cursor) if page_request.cursor else {}
    read = _PageReader(service, paging, rows, page_request)
    while True:
        request = paging.page(call, place, page_request.page_size_for(paging.max_size))
        try:
            answer = yield request
        except McpistError as error:
            if not read.items:
                raise
            return read.cut(error.text().message.rstrip("."), place)
        next_page = paging.next_page(request, answer, read.add(answer.json))
        if next_page and next_page == place:
            raise UpstreamUnavailable(service=service, problem="its next page is the same page again")
        place = next_page
        if not place or read.is_complete:
            return read.end(place)


class _PageReader:
    """What has been read of a list."""

    def __init__(self, service: str, paging: Paging, rows: str, page_request: PageRequest) -> None:
        self.service = service
        self.paging = paging
        self.rows = rows
        self.page_request = page_request
        self.items: list[Any] = []
        self.pages = 0
        self.size_bytes = 0
        self.last: Any = None

    def add(self, page: Any) -> int:
        """Take a page's items and say how many they are."""
        found = value_at(page, self.rows) if self.rows else page
        if not isinstance(found, list):
            problem = "it answered JSON of another shape, without the list"
            raise UpstreamUnavailable(service=self.service, problem=problem)
        extra_columns = self.paging.extra_columns
        self.items += [{**item, **extra_columns(item, page)} for item in found] if extra_columns else found
        self.pages += 1
        if self.page_request.fetch_all:  # all else is bounded by its limit
            self.size_bytes += len(json.dumps(found))
        self.last = page
        return len(found)

    @property
    def is_complete(self) -> bool:
        """Whether no further page is read, though there is one."""
        if self.page_request.fetch_all:
            return self.pages >= MAX_PAGES or self.size_bytes > MAX_BYTES
        return len(self.items) >= self.page_request.limit or self.pages >= MAX_PAGES

    def end(self, place: Position) -> Any:
        """The list, or what the caller wanted of it."""
        if self.page_request.fetch_all:
            return self.cut("the most that fetch_all reads", place) if place else self.joined()
        over = len(self.items) > self.page_request.limit
        self.items = self.items[: self.page_request.limit]
        return self.cut("there are more", {} if over else place) if over or place else self.joined()

    def cut(self, why: str, place: Position) -> PartialList:
        """What there is, with a word for the reader on how to go on."""
        on = f"go on with cursor={urlencode(place)}" if place else f"raise limit (at most {MAX_ITEMS}) or set fetch_all"
        return PartialList(self.joined(), f"Cut after {len(self.items)} items ({why}): {on}.")

    def joined(self) -> Any:
        """The last page's JSON with the items of all pages."""
        return {**self.last, self.rows: self.items} if self.rows else self.items
