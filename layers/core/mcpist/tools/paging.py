"""Paging: one list, as long as the caller wants it, over as many pages as the service makes of it."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from pydantic import Field

from mcpist.errors import InvalidRequest, McpistError, UpstreamUnavailable
from mcpist.render.shows import at
from mcpist.tools.call import Answer, Call, Calls, Cut

MOST_ITEMS = 500
MOST_PAGES = 50  # of fetch_all
MOST_BYTES = 5_000_000  # of fetch_all

type Place = dict[str, Any]
type Following = Callable[[Call, Answer, int], Place]
type Tells = Callable[[Any, Any], dict[str, Any]]


def wanted(
    limit: Annotated[int, Field(ge=1, le=MOST_ITEMS)] = 50,
    fetch_all: Annotated[bool, f"Read to the end, at most {MOST_PAGES} pages or {MOST_BYTES // 1_000_000} MB"] = False,
    cursor: Annotated[str | None, "Go on where a cut list ended: its answer says the cursor"] = None,
    page_size: Annotated[
        int | None, Field(ge=1, le=MOST_ITEMS, description="Items a request; chosen if left out")
    ] = None,
) -> None:
    """The parameters that every paged tool takes besides its own."""


@dataclass(frozen=True, slots=True)
class Paging:
    """How a service pages.

    `size` names the parameter of a page's length, `most` its largest value; `places` are the parameters that say
    where a page begins, and `following(request, answer, items)` reads them for the next page: none at the end. A POST
    takes them in its body. `tells(item, page)` is what is put beside each item, in words that people read.
    """

    size: str
    most: int
    places: tuple[str, ...]
    following: Following
    tells: Tells | None = None

    def page(self, call: Call, place: Place, items: int) -> Call:
        """The request for one page."""
        words = {self.size: items} | place if self.size else place
        if call.method == "POST":
            return replace(call, json={**(call.json or {}), **words})
        return replace(call, query={**call.query, **words})

    def parse(self, cursor: str) -> Place:
        """The place that a cursor stands for; a caller can say nothing else by it."""
        place = dict(parse_qsl(cursor))
        if not place or set(place) - set(self.places):
            raise InvalidRequest(field="cursor", problem="it is none that a cut list of this tool gave")
        return place


def by_field(field: str, place: str, *, more: str = "") -> Following:
    """The next page's place stands in a field of the answer; `more` names a claim that must hold besides."""

    def following(_: Call, answer: Answer, __: int) -> Place:
        found = at(answer.json, field)
        return {place: found} if found and (not more or at(answer.json, more)) else {}

    return following


def by_link(link: Callable[[Answer], str | None], *places: str) -> Following:
    """The next page's place stands in the query of a link: only these words are taken, so it leads to no other host."""

    def following(_: Call, answer: Answer, __: int) -> Place:
        query = dict(parse_qsl(urlsplit(link(answer) or "").query))
        return {place: query[place] for place in places if place in query}

    return following


def by_offset(place: str, *, last: Callable[[Any, int], bool]) -> Following:
    """The next page begins after the items read so far, unless the answer says that this is the last one."""

    def following(call: Call, answer: Answer, items: int) -> Place:
        words = call.json if call.method == "POST" else call.query
        begin = str(words.get(place, 0))
        if not begin.isdecimal():
            raise InvalidRequest(field="cursor", problem="it is no number")
        end = int(begin) + items
        return {place: end} if items and not last(answer.json, end) else {}

    return following


@dataclass(frozen=True, slots=True)
class Wish:
    """How much of a list a caller wants; the fields are those of `wanted`."""

    limit: int = 50
    fetch_all: bool = False
    cursor: str | None = None
    page_size: int | None = None

    def items_a_page(self, most: int) -> int:
        """As few pages as the limit needs, equally long, so that the last one ends where the limit does."""
        most = min(self.page_size or most, most)
        return most if self.fetch_all else -(-self.limit // -(-self.limit // most))


def pages(service: str, call: Call, paging: Paging, rows: str, wish: Wish) -> Calls:
    """The list that begins with this Call, in the shape of its last page; a Cut where more of it is left."""
    place = paging.parse(wish.cursor) if wish.cursor else {}
    read = _Read(service, paging, rows, wish)
    while True:
        request = paging.page(call, place, wish.items_a_page(paging.most))
        try:
            answer = yield request
        except McpistError as error:
            if not read.items:
                raise
            return read.cut(error.text().message.rstrip("."), place)
        following = paging.following(request, answer, read.add(answer.json))
        if following and following == place:
            raise UpstreamUnavailable(service=service, problem="its next page is the same page again")
        place = following
        if not place or read.enough:
            return read.end(place)


class _Read:
    """What has been read of a list."""

    def __init__(self, service: str, paging: Paging, rows: str, wish: Wish) -> None:
        self.service = service
        self.paging = paging
        self.rows = rows
        self.wish = wish
        self.items: list[Any] = []
        self.pages = 0
        self.size_bytes = 0
        self.last: Any = None

    def add(self, page: Any) -> int:
        """Take a page's items and say how many they are."""
        found = at(page, self.rows) if self.rows else page
        if not isinstance(found, list):
            problem = "it answered JSON of another shape, without the list"
            raise UpstreamUnavailable(service=self.service, problem=problem)
        tells = self.paging.tells
        self.items += [{**item, **tells(item, page)} for item in found] if tells else found
        self.pages += 1
        if self.wish.fetch_all:  # all else is bounded by its limit
            self.size_bytes += len(json.dumps(found))
        self.last = page
        return len(found)

    @property
    def enough(self) -> bool:
        """Whether no further page is read, though there is one."""
        if self.wish.fetch_all:
            return self.pages >= MOST_PAGES or self.size_bytes > MOST_BYTES
        return len(self.items) >= self.wish.limit or self.pages >= MOST_PAGES

    def end(self, place: Place) -> Any:
        """The list, or what the caller wanted of it."""
        if self.wish.fetch_all:
            return self.cut("the most that fetch_all reads", place) if place else self.joined()
        over = len(self.items) > self.wish.limit
        self.items = self.items[: self.wish.limit]
        return self.cut("there are more", {} if over else place) if over or place else self.joined()

    def cut(self, why: str, place: Place) -> Cut:
        """What there is, with a word for the reader on how to go on."""
        on = (
            f"go on with cursor={urlencode(place)}" if place else f"raise limit (at most {MOST_ITEMS}) or set fetch_all"
        )
        return Cut(self.joined(), f"Cut after {len(self.items)} items ({why}): {on}.")

    def joined(self) -> Any:
        """The last page's JSON with the items of all pages."""
        return {**self.last, self.rows: self.items} if self.rows else self.items
