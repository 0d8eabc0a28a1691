"""The pages in the navigation, in their order; an administrator's pages are shown to administrators only."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One page."""

    name: str
    """The key of its text in the area `frame`."""
    path: str
    administrators: bool = False


ENTRIES = (
    Entry("home", "/"),
    Entry("tools", "/tools"),
    Entry("batches", "/batches"),
    Entry("files", "/files"),
    Entry("connections", "/connect"),
    Entry("profile", "/profile"),
    Entry("modules", "/modules", administrators=True),
    Entry("logs", "/logs", administrators=True),
    Entry("users", "/users", administrators=True),
    Entry("roles", "/roles", administrators=True),
)


def visible_entries(*, is_administrator: bool) -> list[Entry]:
    """Return the entries that a person sees."""
    return [entry for entry in ENTRIES if is_administrator or not entry.administrators]
