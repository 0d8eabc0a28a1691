"""The items of a mock: what was created under a path is listed, got and deleted there, each by an id of its own."""

import re
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from itertools import count
from typing import Any
from urllib.parse import unquote

from mcpist_services.described.answers import is_of_envelope
from mcpist_services.described.description import Operation
from mcpist_services.described.identifiers import Identifiers, identifier, usual_id
from mcpist_services.described.paths import plain_path, skeleton, split

MAX_ID_DEPTH = 6
_NUMBER = re.compile(r"[0-9a-f]{6,}$")


@dataclass(frozen=True, slots=True)
class Place:
    """The place of an item's id in an answer: the list of its rows, if it is one of several, the keys from there on."""

    top: Any
    keys: tuple[Any, ...]
    rows: list[Any] | None

    @property
    def value(self) -> Any:
        """The id that is there."""
        node = self.rows[0] if self.rows is not None else self.top
        for key in self.keys:
            node = node[key]
        return node

    def write(self, ids: list[str]) -> None:
        """Put an id there; in a list one row for each."""
        is_number = isinstance(self.value, int)
        if self.rows is not None:
            self.rows[:] = [deepcopy(self.rows[0]) for _ in ids]
        for top, one in zip([self.top] if self.rows is None else self.rows, ids, strict=True):
            _set(top, self.keys, int(one) if is_number and one.isdecimal() else one)


class Collections:
    """The ids of the items, by the paths of their collections."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        operations = tuple(operations)
        self.identifiers = Identifiers(operations)
        self._numbered = {
            skeleton(collection)
            for operation in operations
            for collection, parameter in [split(operation.path)]
            for one in operation.parameters
            if one["name"] == parameter and (one.get("schema") or {}).get("type") == "integer"
        }
        """The collections whose items have numbers."""
        self._items: dict[str, list[str]] = {}
        self._numbers = count(1)

    def forget(self) -> None:
        """Forget the ids of all items."""
        self._items.clear()

    def use(self, operation: Operation, path: str, answer: Any, *, strict: bool) -> bool:
        """Do what an operation does with its items, and write their ids into its answer; False for an unknown item."""
        is_item = bool(split(operation.path)[1])
        path = plain_path(path)
        collection, _, item = path.rpartition("/") if is_item else (path, "", "")
        item = unquote(item)
        items, place = self._items.setdefault(collection, []), self.place(operation, answer)
        if is_item and strict and item not in items:
            return False
        if is_item and operation.method == "DELETE" and item in items:
            items.remove(item)
        if not is_item and (operation.method != "GET" or not items):
            items.append(self._new(operation, place))
        if place:
            shown = [item] if is_item else items if operation.method == "GET" else items[-1:]
            place.write(shown)
        return True

    def place(self, operation: Operation, answer: Any) -> Place | None:
        """Return where an answer has the id that the next operation needs; None where nothing looks like it."""
        collection, own = split(operation.path)
        parameter = self.identifiers.parameter(operation)
        objects = [(node, keys, rows) for node, keys, rows in _objects(answer) if _fields(node)]
        in_rows = [one for one in objects if one[2] is not None]
        is_list = bool(parameter) and not own and operation.method == "GET"
        found: list[Place] = []
        for node, keys, rows in [*(in_rows if is_list else ()), *objects[:1], *in_rows[:1]]:
            fields = _fields(node)
            named = identifier(parameter, collection, fields) if parameter else ""
            if field := named or usual_id(fields):
                place = Place(answer, (*keys, field), rows)
                if named or field != "name":
                    return place
                found.append(place)  # a name is an id only where there is no other
        return found[0] if found else None

    def _new(self, operation: Operation, place: Place | None) -> str:
        """Return an id that looks like that of the sample, and that the paths of items take."""
        number, stated = next(self._numbers), place.value if place else ""
        if isinstance(stated, int) or skeleton(split(operation.path)[0]) in self._numbered:
            return str(10_000 + number)
        digits = _NUMBER.search(stated)
        return (
            f"{stated[: digits.start()]}{number:0{len(digits[0])}x}"
            if digits
            else f"item{number}".ljust(len(stated), "x")
        )


def _objects(answer: Any) -> Iterator[tuple[dict[str, Any], tuple[Any, ...], list[Any] | None]]:
    """Yield the objects of an answer, the outermost first, with their keys from the answer or from a row of a list."""
    level: list[tuple[Any, tuple[Any, ...], list[Any] | None]] = [(answer, (), None)]
    for _ in range(MAX_ID_DEPTH):
        following = []
        for node, keys, rows in level:
            if isinstance(node, dict):
                yield node, keys, rows
                following += [(value, (*keys, key), rows) for key, value in node.items()]
            elif isinstance(node, list) and node and rows is None:
                following.append((node[0], (), node))
        level = following


def _fields(node: dict[str, Any]) -> list[str]:
    """Return the names of an object's own texts and numbers, without those that are about the answer."""
    return [key for key, value in node.items() if isinstance(value, str | int) and not is_of_envelope(key)]


def _set(node: Any, keys: tuple[Any, ...], value: Any) -> None:
    for key in keys[:-1]:
        node = node[key]
    node[keys[-1]] = value
