"""Categories as modules: what configuration, lists and approvals add up to for a caller."""

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from mcpist.caller import Caller
from mcpist.errors import ApprovalRequired, McpistError
from mcpist.render.shows import Shows
from mcpist.telemetry.invocation import carried
from mcpist.tools.index import Index
from mcpist.tools.module import Module
from mcpist.tools.proxied import GIVEN
from mcpist.tools.search import Words
from mcpist_services.upstream import identities, lists
from mcpist_services.upstream.categories import Resolved, counts, resolve_all
from mcpist_services.upstream.category import Category
from mcpist_services.upstream.configuration import configuration
from mcpist_services.upstream.connections import Listing, upstreams
from mcpist_services.upstream.identities import acting, owner
from mcpist_services.upstream.lists import Known
from mcpist_services.upstream.trust import Pin, fingerprint, judge

FIRST_SECONDS = 10.0  # for the list of a server of which nothing is known yet
SECONDS = 4.0  # for a list of which the last one could be shown as well
AT_ONCE = 8
MOST_BUILT = 32

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Built:
    """All categories as some state of the lists and approvals makes them, with their index."""

    modules: Mapping[str, Category]
    index: Index


_built: dict[tuple[Any, ...], Built] = {}


class Categories:
    """The categories as one caller's request finds them: nothing is asked of a server until a category is named."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        mine = {name for role in caller.roles for name in role.modules}
        self._mine = {name: one for name, one in configuration().offered.items() if name in mine}
        servers = _servers(self._mine)
        known = dict(zip(servers, _at_once(self._remembered, servers), strict=True))
        self._known = dict.fromkeys(configuration().servers, Known()) | known
        self._all: Built | None = None

    @property
    def index(self) -> Index:
        """What is listed, and what is searched."""
        return self._now.index

    def module(self, name: str) -> Module:
        """A category."""
        return self._now.modules[name]

    def shows(self, module: str, tool: str) -> Shows:  # noqa: ARG002 - nobody knows more of any
        """What the answers of upstreams' tools hold."""
        return GIVEN

    def ready(self, names: Collection[str]) -> None:
        """Ask the servers of these categories for their tools, all at once, where what is known no longer holds."""
        wanted = _servers({name: one for name, one in self._mine.items() if name in names})
        if wanted:
            _start()
        asked = [server for server in wanted if not self._holds(server)]
        if asked:
            self._known |= dict(zip(asked, _at_once(self._current, asked), strict=True))
            self._all = None

    def absence(self, module: str, tool: str = "") -> McpistError | None:
        """Why nothing is known of a category's tools, or why one of them is not there."""
        found = self._now.modules.get(module)
        return found.absence(tool) if found else None

    @property
    def _now(self) -> Built:
        if self._all is None:
            self._all = _build(self._known)
        return self._all

    def _holds(self, server: str) -> bool:
        known = self._known[server]
        return bool(known.kept and not known.kept.stale) or time.time() < known.again_at

    def _remembered(self, server: str) -> Known:
        return lists.known(server, owner(self._caller, server))

    def _current(self, server: str) -> Known:
        seconds = SECONDS if self._known[server].kept else FIRST_SECONDS
        until = time.monotonic() + seconds

        def fetch() -> Listing:
            return upstreams().list_tools(server, acting(self._caller, server).identity, until=until)

        return lists.current(server, owner(self._caller, server), fetch)


def _build(known: Mapping[str, Known]) -> Built:
    """All categories, made once for each state of what they come from; what could not be pinned is tried again."""
    key = tuple((server, one.version) for server, one in known.items())
    if key in _built:
        return _built[key]
    listed = {server: [tool.name for tool in one.kept.listing.tools] for server, one in known.items() if one.kept}
    resolved = resolve_all(configuration(), listed)
    pinned = {server: replace(known[server], pins=_pinned(server, known[server], resolved)) for server in listed}
    made = _made(resolved, {**known, **pinned})
    if len(_built) >= MOST_BUILT:
        _built.clear()
    if all(pin.fingerprint for one in pinned.values() for pin in one.pins.values()):
        _built[key] = made
    return made


def _made(resolved: Collection[Resolved], known: Mapping[str, Known]) -> Built:
    homes = _homes()
    modules = {
        one.name: Category(one, known, [server for server in one.category.servers if homes[server] == one.name])
        for one in resolved
    }
    _tell(resolved, modules.values())
    words = Words.of(tool.words for module in modules.values() for tool in module.tools.values())
    return Built(modules, Index([module.entry for module in modules.values()], words))


def _pinned(server: str, known: Known, resolved: Iterable[Resolved]) -> Mapping[str, Pin]:
    """The approvals, among them those of tools that are seen for the first time and are named in the configuration."""
    chosen = [one for category in resolved for one in category.tools.values()]
    named = {one.tool for one in chosen if one.server == server and one.named} - known.pins.keys()
    tools = known.kept.listing.tools if known.kept else ()
    now = int(time.time())
    first = [
        Pin(tool.name, fingerprint(tool), "name", now)
        for tool in tools
        if tool.name in named and judge(known.pins, tool, named=True) == "approved"
    ]
    if not first:
        return known.pins
    try:
        lists.approve(server, first, again=False)
        return lists.pins(server)
    except McpistError:  # what cannot be pinned now is not believed either
        return {**known.pins, **{pin.tool: replace(pin, fingerprint="") for pin in first}}


def _tell(resolved: Collection[Resolved], modules: Iterable[Category]) -> None:
    """Log what the configuration came to; names that lead nowhere are a warning."""
    unresolved = {one.name: list(one.unresolved) for one in resolved if one.unresolved}
    clashes = {one.name: [clash.tool for clash in one.clashes] for one in resolved if one.clashes}
    waiting = sum(isinstance(why, ApprovalRequired) for module in modules for why in module.withheld.values())
    level = logging.WARNING if unresolved or clashes else logging.INFO
    fields = {**counts(resolved), "waiting": waiting, "unresolved_names": unresolved, "clashing_names": clashes}
    logger.log(level, "upstream categories", extra=fields)


def _servers(categories: Mapping[str, Any]) -> list[str]:
    """The servers of some categories, each once."""
    return list(dict.fromkeys(server for category in categories.values() for server in category.servers))


def _homes() -> dict[str, str]:
    """The category that a server's resources and prompts are offered under: the first that names it."""
    offered = configuration().offered
    return {server: name for name in reversed(list(offered)) for server in offered[name].servers}


def _at_once(ask: Callable[[str], Known], servers: list[str]) -> list[Known]:
    """What is asked of several servers, at the same time."""
    if len(servers) < 2:
        return [ask(server) for server in servers]
    with ThreadPoolExecutor(min(AT_ONCE, len(servers))) as threads:
        return list(threads.map(carried(ask), servers))


@cache
def _start() -> None:
    """Begin to connect to all servers, once the first category is named: who needs none waits for none."""
    upstreams().start()


def forget() -> None:
    """Drop what memory holds of lists, approvals and parameters, as a new sandbox would begin."""
    _built.clear()
    _start.cache_clear()
    lists.forget()
    identities.forget()
