"""Directories: how a service's people are found. A service with people declares its own in `people.py`."""

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from mcpist.memory import cached
from mcpist_services import NAMES

type Use = tuple[str, Mapping[str, Any]]
"""A tool of the service that reads, and its arguments."""
type Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Directory:
    """The tools that find the people of one service."""

    use: Callable[[str], Use]
    """Returns the tool that finds a name or an e-mail address, or that lists all people."""
    id: str = "id"
    """The column with the id that the service's tools take."""
    names: tuple[str, ...] = ("name",)
    """The columns with names, the one to show first."""
    email: str = "email"
    is_search: bool = False
    """Whether the service searches; else its rows are searched here."""
    is_person: Callable[[Row], bool] = lambda _: True
    """Whether a row is a person who is still there."""

    def people(self, service: str, rows: list[Row], person: str) -> list[Row]:
        """Return the rows of a person, those with exactly this name or address first."""
        found = [row for row in rows if self.is_person(row) and (self.is_search or self._matches(row, person))]
        found.sort(key=lambda row: _plain(person) not in self._words(row))
        return [
            {"service": service, "id": row[self.id], "name": self._name(row), "email": row.get(self.email)}
            for row in found
        ]

    def _matches(self, row: Row, person: str) -> bool:
        """Whether one name or the address has all words of a person's name, in any order."""
        return any(all(_plain(part) in word for part in person.split()) for word in self._words(row))

    def _words(self, row: Row) -> list[str]:
        return [_plain(str(row.get(column) or "")) for column in (*self.names, self.email)]

    def _name(self, row: Row) -> str | None:
        return next((row[column] for column in self.names if row.get(column)), None)


def _plain(text: str) -> str:
    """Return a name without case and spaces: Japanese names are written with and without one."""
    return unicodedata.normalize("NFKC", text).casefold().replace(" ", "")


@cached
def directories() -> dict[str, Directory]:
    """Return the directories of all services that declare one."""
    places = {service: f"mcpist_services.{service}.people" for service in NAMES}
    return {service: import_module(place).DIRECTORY for service, place in places.items() if find_spec(place)}
