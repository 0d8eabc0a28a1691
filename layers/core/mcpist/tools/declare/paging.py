"""Pagination: read as much of a list as the caller wants, over as many pages as the service makes of it."""

import json
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from pydantic import Field

from mcpist.errors import InvalidRequest, McpistError, UpstreamUnavailable
from mcpist.render.shows import value_at
from mcpist.tools.declare.call import Call, Calls, PartialList, ServiceResponse

MAX_ITEMS = 500
MAX_PAGES = 50  # of fetch_all
MAX_BYTES = 5_000_000  # of fetch_all

type Position = dict[str, Any]
type NextPage = Callable[[Call, ServiceResponse, int], Position]
type ExtraColumns = Callable[[Any, Any], dict[str, Any]]


def paging_parameters(
    limit: Annotated[int, Field(ge=1, le=MAX_ITEMS)] = 50,
    fetch_all: Annotated[bool, f"Read to the end, at most {MAX_PAGES} pages or {MAX_BYTES // 1_000_000} MB"] = False,
    cursor: Annotated[str | None, "Go on where a cut list ended: its answer says the cursor"] = None,
    page_size: Annotated[
        int | None, Field(ge=1, le=MAX_ITEMS, description="Items a request; chosen if left out")
    ] = None,
) -> None:
    """Declare the parameters that every paged tool has besides its own."""


@dataclass(frozen=True, slots=True)
class Paging:
    """How a service divides a list into pages; a POST has the parameters in its body."""

    size: str
    """The name of the parameter for the number of items in a page."""
    max_size: int
    """The largest number of items in a page."""
    position_parameters: tuple[str, ...]
    """The names of the parameters that say where a page begins."""
    next_page: NextPage
    """Return the position parameters of the next page from (request, response, items read); none at the end."""
    extra_columns: ExtraColumns | None = None
    """Return columns to add to an item from (item, page), where its ids need names beside them."""
    complete: Callable[[list[Any]], Generator[Call, ServiceResponse]] | None = None
    """Send further requests about the items that are shown, and add to them what the responses say."""

    def page(self, call: Call, position: Position, items: int) -> Call:
        """Return the request for one page."""
        parameters = {self.size: items} | position if self.size else position
        if call.method == "POST":
            return replace(call, json={**(call.json or {}), **parameters})
        return replace(call, query={**call.query, **parameters})

    def parse(self, cursor: str) -> Position:
        """Return the position that a cursor encodes; InvalidRequest for any other parameter in it."""
        position = dict(parse_qsl(cursor))
        if not position or set(position) - set(self.position_parameters):
            raise InvalidRequest(field="cursor", problem="it is none that a cut list of this tool gave")
        return position


def by_field(field: str, position: str, *, more: str = "") -> NextPage:
    """Read the next page's position from a field of the response, if the field `more` is true too."""

    def next_page(_: Call, response: ServiceResponse, __: int) -> Position:
        value = value_at(response.json, field)
        return {position: value} if value and (not more or value_at(response.json, more)) else {}

    return next_page


def by_link(link: Callable[[ServiceResponse], str | None], *parameters: str) -> NextPage:
    """Read the next page's position from a link's query: only these parameters, so no link leads to another host."""

    def next_page(_: Call, response: ServiceResponse, __: int) -> Position:
        query = dict(parse_qsl(urlsplit(link(response) or "").query))
        return {name: query[name] for name in parameters if name in query}

    return next_page


def by_offset(position: str, *, last: Callable[[Any, int], bool]) -> NextPage:
    """Begin the next page after the items read so far, unless the response says that this is the last one."""

    def next_page(call: Call, response: ServiceResponse, items: int) -> Position:
        parameters = call.json if call.method == "POST" else call.query
        begin = str(parameters.get(position, 0))
        if not begin.isdecimal():
            raise InvalidRequest(field="cursor", problem="it is no number")
        end = int(begin) + items
        return {position: end} if items and not last(response.json, end) else {}

    return next_page


@dataclass(frozen=True, slots=True)
class PageRequest:
    """The part of a list that a caller wants; the fields are those of `paging_parameters`."""

    limit: int = 50
    fetch_all: bool = False
    cursor: str | None = None
    page_size: int | None = None

    def page_size_for(self, max_size: int) -> int:
        """Return the size of equal pages, as few as the limit needs, so that the last one ends where the limit does."""
        max_size = min(self.page_size or max_size, max_size)
        return max_size if self.fetch_all else -(-self.limit // -(-self.limit // max_size))


def pages(service: str, first: Call | Calls, paging: Paging, rows: str, page_request: PageRequest) -> Calls:
    """Read the list that begins with this Call, in the shape of its last page; a PartialList if there is more.

    The first Call may follow others, e.g. those that look up the id of a name: a generator sends them and returns it.
    """
    reader = _PageReader(service, paging, rows, page_request)
    found = yield from reader.read(first)
    if paging.complete:
        yield from paging.complete(reader.items)
    return found


@dataclass(slots=True)
class _PageReader:
    """The pages that have been read of a list."""

    service: str
    paging: Paging
    rows: str
    page_request: PageRequest
    items: list[Any] = field(default_factory=list)
    pages: int = 0
    size_bytes: int = 0
    last: Any = None

    def read(self, first: Call | Calls) -> Calls:
        """Send the requests for one page after the other, and return the list or the part that was wanted."""
        call = first if isinstance(first, Call) else (yield from first)
        position = self.paging.parse(self.page_request.cursor) if self.page_request.cursor else {}
        while True:
            request = self.paging.page(call, position, self.page_request.page_size_for(self.paging.max_size))
            try:
                response = yield request
            except McpistError as error:
                # What was read is worth more than the error of a later page, which the sentence about the cut repeats.
                if not self.items:
                    raise
                return self.cut(error.text().message.rstrip("."), position)
            next_page = self.paging.next_page(request, response, self.add(response.json))
            # A service that answers its own position again would be read until MAX_PAGES.
            if next_page and next_page == position:
                raise UpstreamUnavailable(service=self.service, problem="its next page is the same page again")
            position = next_page
            if not position or self.is_complete:
                return self.end(position)

    def add(self, page: Any) -> int:
        """Add a page's items and return their number."""
        items = value_at(page, self.rows) if self.rows else page
        if not isinstance(items, list):
            problem = "it answered JSON of another shape, without the list"
            raise UpstreamUnavailable(service=self.service, problem=problem)
        extra_columns = self.paging.extra_columns
        self.items += [{**item, **extra_columns(item, page)} for item in items] if extra_columns else items
        self.pages += 1
        if self.page_request.fetch_all:  # all else is bounded by its limit
            self.size_bytes += len(json.dumps(items))
        self.last = page
        return len(items)

    @property
    def is_complete(self) -> bool:
        """Whether no further page is to be read, even if there is one."""
        if self.page_request.fetch_all:
            return self.pages >= MAX_PAGES or self.size_bytes > MAX_BYTES
        return len(self.items) >= self.page_request.limit or self.pages >= MAX_PAGES

    def end(self, position: Position) -> Any:
        """Return the list, or the part of it that the caller wanted."""
        if self.page_request.fetch_all:
            return self.cut("the most that fetch_all reads", position) if position else self.joined()
        over = len(self.items) > self.page_request.limit
        self.items = self.items[: self.page_request.limit]
        return self.cut("there are more", {} if over else position) if over or position else self.joined()

    def cut(self, why: str, position: Position) -> PartialList:
        """Return the items read so far, with a sentence for the model on how to read the rest."""
        raising = f"raise limit (at most {MAX_ITEMS}) or set fetch_all"
        on = f"go on with cursor={urlencode(position)}" if position else raising
        return PartialList(self.joined(), f"Cut after {len(self.items)} items ({why}): {on}.")

    def joined(self) -> Any:
        """Return the last page's JSON with the items of all pages."""
        return _with_items(self.last, self.rows.split("."), self.items) if self.rows else self.items


def _with_items(page: Any, keys: list[str], items: list[Any]) -> Any:
    """Return a page with other items in the place of its list, e.g. in that of `data.issues.nodes`."""
    first, *rest = keys
    return {**page, first: _with_items(page[first], rest, items) if rest else items}
