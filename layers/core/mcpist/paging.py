"""Pages of a list that is in memory: searched by a text, sorted by a key, and continued after a cursor."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

MAX_PAGE_ITEMS = 1_000
DEFAULT_PAGE_ITEMS = 100


@dataclass(frozen=True, slots=True)
class ListPage[Item]:
    """Some items of a list."""

    items: Sequence[Item]
    cursor: str
    """Where the next page begins: the key of the last item, empty on the last page."""
    total: int
    """The number of items on all pages."""


def page_of[Item](
    items: Iterable[Item],
    key: Callable[[Item], str],
    cursor: str = "",
    limit: int = DEFAULT_PAGE_ITEMS,
    *,
    descending: bool = False,
) -> ListPage[Item]:
    """Return the items after a cursor, by their keys, which differ."""
    ordered, comes_after = sorted(items, key=key, reverse=descending), str.__lt__ if descending else str.__gt__
    rest = [item for item in ordered if not cursor or comes_after(key(item), cursor)]
    return ListPage(rest[:limit], key(rest[limit - 1]) if len(rest) > limit else "", len(ordered))


def search[Item](items: Iterable[Item], text: str, texts: Callable[[Item], Iterable[str]]) -> list[Item]:
    """Return the items of which one text contains another one, in small or capital letters."""
    wanted = text.strip().casefold()
    return [item for item in items if not wanted or any(wanted in own.casefold() for own in texts(item))]
