"""A page of a sorted list, which begins after the key that the query names."""

from collections.abc import Callable, Sequence

PAGE_ROWS = 50


def page_of[T](sorted_items: Sequence[T], key: Callable[[T], str], cursor: str) -> tuple[Sequence[T], str]:
    """Return the items after a cursor, and the cursor of the page after them; empty at the end."""
    rest = [item for item in sorted_items if key(item) > cursor]
    return rest[:PAGE_ROWS], key(rest[PAGE_ROWS - 1]) if len(rest) > PAGE_ROWS else ""
