"""The sources of references: the element that a step runs for, and the results of the steps before it."""

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from mcpist.batch.language.references import EACH, EachElement, NoResult, StepResult
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.records import Entry, Header, MapItems
from mcpist.files.answers import content_of
from mcpist.files.records import record
from mcpist.memory import Memory
from mcpist.render.shows import Shows

MAX_CACHED_LIST_BYTES = 8_000_000  # of its JSON; as values it takes several times that

# The lists that steps run over, by batch and step: an element reads the whole list only where its sandbox has not yet.
_lists: Memory[tuple[str, int], list[Any]] = Memory(seconds=300, max_entries=2)


class Sources:
    """The sources of one step or element by their names, each read from the ledger on first use."""

    def __init__(self, head: Header, entry: Entry, find_shows: Callable[[str, str], Shows]) -> None:
        self._head = head
        self._entry = entry
        self._find_shows = find_shows
        self._indexes = {head.ids[need]: need for need in head.needs[entry.index]}
        self._cache: dict[str, StepResult | EachElement | NoResult] = {}

    def __call__(self, name: str) -> StepResult | EachElement | NoResult:
        """Return the source of a name, which is `each` or the id of a step."""
        if name not in self._cache:
            self._cache[name] = self._read_element() if name == EACH else self._read_result(self._indexes[name])
        return self._cache[name]

    def _read_element(self) -> EachElement:
        map_items, element = self._entry.map_items, self._entry.element
        if map_items is None or element is None:
            raise LookupError("the step has no element")
        return EachElement(deepcopy(self._list(map_items)[element]))

    def _list(self, map_items: MapItems) -> list[Any]:
        """Return the list that the step runs over; once stored it never changes."""
        key = self._head.pk, self._entry.index
        if (known := _lists.get(key)) is not None:
            return known
        content = ledger.load_content(self._head, map_items.values)
        values: list[Any] = json.loads(content)
        return _lists.put(key, values) if len(content) <= MAX_CACHED_LIST_BYTES else values

    def _read_result(self, step: int) -> StepResult | NoResult:
        """Return the result of a settled step; NoResult for one that failed, which `on_error` allows."""
        (source,) = ledger.get_entries(self._head.pk, [step])
        if source.result is None:
            return NoResult()
        shows = self._find_shows(source.step.module, source.step.tool)
        elements = None if source.statuses is None else list(source.statuses)
        raw = ledger.load_json(self._head, source.result)

        def make_file() -> Mapping[str, Any]:
            made = content_of(raw, shows, each=elements is not None, raw_output=source.step.raw_output)
            file = record(self._head.organization, self._head.user, made.content, made.content_type)
            return file.reference.model_dump()

        return StepResult(raw, shows, make_file, elements)
