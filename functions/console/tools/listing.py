"""The list of tools: searched by a task, narrowed by filters, a page at a time."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast, get_args

from console.lists import Columns, export, named_columns
from console.visit import Visit
from mcpist.errors import InvalidRequest
from mcpist.http.request import HttpResponse
from mcpist.paging import ListPage
from mcpist.registry.entries import EVERYTHING, Filter, Registry, RegistryEntry
from mcpist.running.accounts import is_connected, working_services
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.tool import Effect
from mcpist_services.catalogue import CATALOGUE
from mcpist_services.registered.registration import everything_of

PAGE_TOOLS = 40
EFFECTS: tuple[Effect, ...] = get_args(Effect.__value__)
COLUMNS: Columns[RegistryEntry] = named_columns("name effect enabled category description")
_ANSWERS = {"": None, "yes": True, "no": False}


@dataclass(frozen=True, slots=True)
class Wanted:
    """The filters that the query of the page names."""

    text: str
    filter: Filter
    connected: bool | None
    page: int


type ToolPage = ListPage[tuple[RegistryEntry, bool | None]]
"""Each tool, and whether its account works; None where it needs none, or nobody could tell."""
type Choices = Mapping[str, Sequence[str]]
"""The values that each filter offers."""


def wanted_of(visit: Visit) -> Wanted:
    """Return the filters of a query; InvalidRequest for a value that no filter has."""
    query = visit.request.query
    effect, page = query.get("effect", ""), query.get("page", "1")
    if effect not in {"", *EFFECTS}:
        raise InvalidRequest(field="effect", problem=f"it is one of {', '.join(EFFECTS)}")
    if not re.fullmatch("[1-9][0-9]{0,5}", page):
        raise InvalidRequest(field="page", problem="it is a number from 1 on")
    found = Filter(
        module=query.get("module", ""),
        category=query.get("category", ""),
        tag=query.get("tag", ""),
        effect=cast("Effect", effect) if effect else None,
        enabled=_answer(query.get("enabled", ""), "enabled"),
    )
    return Wanted(query.get("q", "").strip(), found, _answer(query.get("connected", ""), "connected"), int(page))


def permissions_of(visit: Visit) -> Permissions:
    """Return the catalogue as a person may use it; for an administrator with all modules of the organization."""
    return Permissions(everything_of(visit.reader), CATALOGUE) if visit.is_administrator else visit.permissions


def list_tools(visit: Visit, wanted: Wanted) -> tuple[ToolPage, Choices] | HttpResponse:
    """Return a page of the tools, and what the filters offer: of all tools, not of those found; or those as CSV."""
    permissions = permissions_of(visit)
    if wanted.filter.module:
        permissions.load_tools((wanted.filter.module,))
    registry = Registry(permissions, everything=visit.is_administrator)
    everything = registry.list()
    found = everything if wanted.filter == EVERYTHING else [one for one in everything if wanted.filter.admits(one)]
    if wanted.text:
        found = _search(registry, wanted, found)
    working = working_services(permissions, everything)
    if wanted.connected is not None:
        found = [entry for entry in found if is_connected(entry, working) is wanted.connected]
    if exported := export(visit, "tools", found, COLUMNS):
        return exported
    begin = (wanted.page - 1) * PAGE_TOOLS
    shown = [(entry, is_connected(entry, working)) for entry in found[begin : begin + PAGE_TOOLS]]
    return ListPage(shown, "", len(found)), _choices(everything)


def _search(registry: Registry, wanted: Wanted, entries: Sequence[RegistryEntry]) -> list[RegistryEntry]:
    """Return the tools that fit a task, best first, then others with the words in their names.

    The search knows tools that may be used now; an administrator also looks for those that are switched off.
    """
    best = [entry for entry, _ in registry.search(wanted.text, wanted.filter)]
    words, names = wanted.text.casefold().split(), {entry.name for entry in best}
    named = (entry for entry in entries if entry.name not in names)
    return [*best, *(entry for entry in named if all(word in entry.name.casefold() for word in words))]


def _choices(entries: Sequence[RegistryEntry]) -> Choices:
    modules, categories = {entry.module for entry in entries}, {entry.category for entry in entries}
    tags = {tag for entry in entries for tag in entry.tags}
    return {"module": sorted(modules), "category": sorted(categories - {""}), "tag": sorted(tags)}


def _answer(value: str, field: str) -> bool | None:
    if value not in _ANSWERS:
        raise InvalidRequest(field=field, problem="it is yes or no")
    return _ANSWERS[value]
