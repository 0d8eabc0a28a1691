"""The categories as modules for one caller: built from configuration, lists and approvals."""

import logging
import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal

from mcpist.caller import Caller, RegisteredModule
from mcpist.errors import McpistError
from mcpist.memory import Memory
from mcpist.render.shows import Shows
from mcpist.telemetry.invocation import with_context
from mcpist.tools.declare.module import Module
from mcpist.tools.declare.tool import ModuleMetadata
from mcpist.tools.search.catalogue import ModuleSource
from mcpist.tools.search.index import Index
from mcpist.tools.search.word_index import WordIndex
from mcpist_services.upstream import lists
from mcpist_services.upstream.categories import ResolvedCategory, counts, resolve
from mcpist_services.upstream.category import CategoryModule
from mcpist_services.upstream.configuration import configuration
from mcpist_services.upstream.connections import upstreams
from mcpist_services.upstream.listing import Listing
from mcpist_services.upstream.lists import ServerState
from mcpist_services.upstream.peers import identity_for, owner
from mcpist_services.upstream.registered import OfferedServers, columns_of, offered_to, server_of
from mcpist_services.upstream.trust import ListedItem, Pin, approval_of, judge, pin_name

FIRST_LIST_TIMEOUT_SECONDS = 10.0  # for the first list of a server
MAX_FIRST_LIST_SECONDS = 20.0  # the rest of a request needs some, too; the server goes on starting for a later one
REFRESH_TIMEOUT_SECONDS = 4.0  # for a newer list of a server: the last one can be shown instead
APPROVAL_SECONDS = 1.0  # until an approval is seen by those who use a category in which tools wait
MAX_CONCURRENT_LISTS = 8
MAX_CACHED_BUILDS = 32

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BuiltCategories:
    """All categories for one state of lists and approvals, with their index."""

    modules: Mapping[str, CategoryModule]
    index: Index


_builds: Memory[tuple[Any, ...], BuiltCategories] = Memory(math.inf, MAX_CACHED_BUILDS)


class Categories(ModuleSource):
    """The categories as one caller's request finds them: no server is asked until a category is named.

    Of the organization's modules those that are `registered` count; the deployment may have taken others' names.
    """

    def __init__(self, caller: Caller, registered: Collection[RegisteredModule]) -> None:
        self._caller = caller
        self._offer = offered_to(replace(caller, modules=tuple(registered)))
        permitted = {name for role in caller.roles for name in role.modules}
        self._permitted = {name: one for name, one in self._offer.categories.items() if name in permitted}
        servers = _servers_of(self._permitted)
        states = _map_concurrently(lambda server: lists.server_state(server, owner(caller, server)), servers)
        known = dict(zip(servers, states, strict=True))
        self._states = dict.fromkeys(self._offer.servers, ServerState()) | known
        self._latest_build: BuiltCategories | None = None

    @property
    def index(self) -> Index:
        """The index for listing and searching."""
        return self._current_build.index

    def module(self, name: str) -> Module:
        """Return a category as a module."""
        return self._current_build.modules[name]

    def shows(self, module: str, tool: str) -> Shows:  # noqa: ARG002 - a server's tools differ in nothing known
        """Return the columns of an upstream tool's results."""
        return columns_of(self._offer.categories[module].servers)

    def load_tools(self, names: Collection[str]) -> None:
        """Ask the servers of these categories for their tools, in parallel, if their lists are stale."""
        wanted = _servers_of({name: one for name, one in self._permitted.items() if name in names})
        if wanted:
            upstreams().start()  # once the first category is named: a request that needs none waits for none
        self._read_approvals(names)
        asked = [server for server in wanted if not self._states[server].may_wait]
        if asked:
            self._states |= dict(zip(asked, _map_concurrently(self._refreshed_state, asked), strict=True))
            self._latest_build = None

    def missing_reason(self, module: str, tool: str = "") -> McpistError | None:
        """Return why a category's tools, or one of them, are unknown."""
        found = self._current_build.modules.get(module)
        if module in self._offer.failures:
            return self._offer.failures[module]
        return found.missing_reason(tool) if found else None

    @property
    def _current_build(self) -> BuiltCategories:
        if self._latest_build is None:
            self._latest_build = _build(self._states, self._offer)
        return self._latest_build

    def _read_approvals(self, names: Collection[str]) -> None:
        """Look for approvals of a moment ago where tools of these categories wait for them."""
        known = [
            name
            for name in names
            if name in self._permitted and any(self._states[server].cached for server in self._permitted[name].servers)
        ]
        waiting = [name for name in known if self._current_build.modules[name].waiting]
        for server in _servers_of({name: self._permitted[name] for name in waiting}):
            self._states[server] = lists.server_state(server, owner(self._caller, server), APPROVAL_SECONDS)
            self._latest_build = None

    def _refreshed_state(self, server: str) -> ServerState:
        seconds = REFRESH_TIMEOUT_SECONDS if self._states[server].cached else _first_list_seconds(server)
        deadline = time.monotonic() + seconds

        def fetch() -> Listing:
            return upstreams().list_tools(server, identity_for(self._caller, server), deadline=deadline)

        return lists.refreshed(server, owner(self._caller, server), fetch)


def _first_list_seconds(server: str) -> float:
    """Return the time for the first list: a command may fetch its package at its first start."""
    configured = server_of(server)
    longer = min(configured.timeout_seconds, MAX_FIRST_LIST_SECONDS) if configured.type == "stdio" else 0
    return max(FIRST_LIST_TIMEOUT_SECONDS, longer)


def _build(known: Mapping[str, ServerState], offer: OfferedServers) -> BuiltCategories:
    """Build all categories, once for each state of their sources; items that could not be pinned are tried again."""
    # No caller is in the key: those who see the same lists and approvals share a build.
    key = configuration().digest, *((server, one.version) for server, one in known.items())
    if found := _builds.get(key):
        return found
    listed = {server: [tool.name for tool in one.cached.listing.tools] for server, one in known.items() if one.cached}
    resolved = [resolve(name, category, listed) for name, category in offer.categories.items()]
    pinned = {
        server: replace(known[server], pins=_pin_first_seen(server, known[server], resolved)) for server in listed
    }
    made = _build_modules(resolved, {**known, **pinned}, offer)
    if all(pin.fingerprint for one in pinned.values() for pin in one.pins.values()):
        _builds.put(key, made)
    return made


def _build_modules(
    resolved: Collection[ResolvedCategory], known: Mapping[str, ServerState], offer: OfferedServers
) -> BuiltCategories:
    # The first category that names a server offers its resources and prompts.
    owners = {server: name for name in reversed([*offer.categories]) for server in offer.categories[name].servers}
    modules = {
        one.name: CategoryModule(
            one,
            known,
            [server for server in one.category.servers if owners[server] == one.name],
            offer.about.get(one.name, ModuleMetadata()),
        )
        for one in resolved
    }
    _log_resolution(resolved, modules.values())
    words = WordIndex.of(tool.words for module in modules.values() for tool in module.tools.values())
    return BuiltCategories(modules, Index([module.entry for module in modules.values()], words))


def _pin_first_seen(server: str, known: ServerState, resolved: Iterable[ResolvedCategory]) -> Mapping[str, Pin]:
    """Return the approvals, with those of items that are seen for the first time.

    A tool is approved then if the configuration names it, a resource or a prompt in any case: roles need a mask for it.
    """
    if known.cached is None:
        return known.pins
    chosen = [one for category in resolved for one in category.tools.values()]
    named = {one.tool for one in chosen if one.server == server and one.named}
    tools = _first_pins(known.pins, (tool for tool in known.cached.listing.tools if tool.name in named), "name")
    materials = _first_pins(known.pins, known.cached.listing.materials, "sight")
    if not tools and not materials:
        return known.pins
    try:
        lists.approve(server, tools, again=False)
        lists.approve(server, materials, again=False, owner=known.owner)
        return lists.pins(server, known.owner)
    except McpistError:  # an item that cannot be pinned now is not trusted either
        return {**known.pins, **{pin.tool: replace(pin, fingerprint="") for pin in (*tools, *materials)}}


def _first_pins(pins: Mapping[str, Pin], items: Iterable[ListedItem], by: Literal["name", "sight"]) -> list[Pin]:
    """Return the approvals of items that have none and hide no characters."""
    now = int(time.time())
    return [
        approval_of(item, by, now)
        for item in items
        if pin_name(item) not in pins and judge(pins, item, named=True) == "approved"
    ]


def _log_resolution(resolved: Collection[ResolvedCategory], modules: Iterable[CategoryModule]) -> None:
    """Log the resolved configuration; unresolved names are a warning."""
    unresolved = {one.name: list(one.unresolved) for one in resolved if one.unresolved}
    clashes = {one.name: [clash.tool for clash in one.clashes] for one in resolved if one.clashes}
    waiting = sum(len(tools) for module in modules for tools in module.waiting.values())
    level = logging.WARNING if unresolved or clashes else logging.INFO
    fields = {**counts(resolved), "waiting": waiting, "unresolved_names": unresolved, "clashing_names": clashes}
    logger.log(level, "upstream categories", extra=fields)


def _servers_of(categories: Mapping[str, Any]) -> list[str]:
    """Return the servers of some categories, each once."""
    return list(dict.fromkeys(server for category in categories.values() for server in category.servers))


def _map_concurrently(ask: Callable[[str], ServerState], servers: list[str]) -> list[ServerState]:
    """Call a function for several servers at the same time."""
    if len(servers) < 2:
        return [ask(server) for server in servers]
    with ThreadPoolExecutor(min(MAX_CONCURRENT_LISTS, len(servers))) as threads:
        return list(threads.map(with_context(ask), servers))
