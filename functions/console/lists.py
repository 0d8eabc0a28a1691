"""Lists: a page sorted by one of its columns, or all of it as CSV; the address says which."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any

from console.visit import Visit
from mcpist.errors import InvalidRequest
from mcpist.http.page import download
from mcpist.http.request import HttpResponse
from mcpist.paging import ListPage, page_of
from mcpist.spreadsheet import CSV, as_csv

LIST_PAGE_ROWS = 50
MAX_EXPORT_ROWS = 2_000
"""Of a list that a store has, which is read page by page."""
MAX_NUMBER_DIGITS = 15

type Columns[Item] = Mapping[str, Callable[[Item], Any]]
"""The value of each column by its name in an address and in the head of an export; the first names an item."""


def named_columns[Item](names: str, **values: Callable[[Item], Any]) -> Columns[Item]:
    """Return the columns of these names: each is the attribute of an item, unless a function makes its value."""
    return {name: values.get(name) or attrgetter(name) for name in names.split()}


def list_page[Item](visit: Visit, items: Iterable[Item], columns: Columns[Item], default: str = "") -> ListPage[Item]:
    """Return the page that the address asks for; `sort` is a column, with `-` before it from its end on."""
    key, descending = _order(visit.request.query.get("sort", default), columns)
    return page_of(items, key, visit.request.query.get("cursor", ""), LIST_PAGE_ROWS, descending=descending)


def export[Item](visit: Visit, name: str, items: Iterable[Item], columns: Columns[Item]) -> HttpResponse | None:
    """Return all items as a file, if the address asks for that."""
    query = visit.request.query
    if query.get("format", "") != "csv":
        return None
    if "sort" in query:
        key, descending = _order(query["sort"], columns)
        items = sorted(items, key=key, reverse=descending)
    rows = ({column: value_of(item) for column, value_of in columns.items()} for item in items)
    return download(visit.request, as_csv([*columns], rows).encode(), CSV, f"{name}.csv")


def read_on[Item](read: Callable[[str], tuple[Sequence[Item], str]], cursor: str) -> Iterator[Item]:
    """Yield the items of a list in a store from a cursor on, up to the bound of an export."""

    def pages() -> Iterator[Item]:
        after = cursor
        while True:
            items, after = read(after)
            yield from items
            if not after:
                return

    return islice(pages(), MAX_EXPORT_ROWS)


def _order[Item](sort: str, columns: Columns[Item]) -> tuple[Callable[[Item], str], bool]:
    """Return the key by which items are sorted, which differs for each of them, and whether they begin at the end."""
    name_of = next(iter(columns.values()))
    value_of = columns.get(sort.removeprefix("-")) if sort else name_of
    if value_of is None:
        raise InvalidRequest(field="sort", problem=f"it is one of {', '.join(columns)}")
    return lambda item: f"{_sortable(value_of(item))}\t{name_of(item)}", sort.startswith("-")


def _sortable(value: Any) -> str:
    """Return a text that is in the order of a value: a list is as large as it is long."""
    number = len(value) if isinstance(value, list | tuple) else value
    return f"{number:0{MAX_NUMBER_DIGITS}}" if isinstance(number, int) else str(value).casefold()
