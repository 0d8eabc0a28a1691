"""The last lists of upstreams' tools, and the approvals of the tools: cached in memory, stored in the ledger.

Items (`pk`, `sk`):

    upstream#SERVER, list#0          what the server offers everybody, compressed; a long list has more parts
    upstream#SERVER, pin#TOOL        the approval of one tool, resource or prompt; it never expires
    upstream#SERVER#ORG#USER, list#0 what it offers one user, where its list depends on the user, with pin# items, too
    upstream#SERVER#texts, TOOL      the compressed text of an approval, which only those read who decide on a new one
    ORG#upstream#NAME#HASH, ...      the same of a server that an organization registered

So one Query reads all of a server, and a cold sandbox asks no upstream.
"""

import hashlib
import json
import math
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

from mcpist.aws.attributes import Item
from mcpist.aws.clients import ConditionFailed
from mcpist.aws.table import Table
from mcpist.errors import McpistError, StoreUnavailable
from mcpist.memory import Memory
from mcpist.settings import settings
from mcpist_services.upstream.listing import Listing, listing_from_json, listing_to_json
from mcpist_services.upstream.registered import partition_of, server_of
from mcpist_services.upstream.trust import Pin

DEFAULT_TTL_SECONDS = 600.0
MIN_TTL_SECONDS, MAX_TTL_SECONDS = 60.0, 86_400.0
MEMORY_TTL_SECONDS = 60.0  # the delay until another sandbox's refresh is seen
RETRY_DELAY_SECONDS = 30.0  # after an upstream did not answer
RETENTION_DAYS = 90
MAX_PART_BYTES = 300_000
MAX_MEMORY_ENTRIES = 1_000
MAX_CONCURRENT_WRITES = 16
MAX_TEXT_BYTES = 60_000
"""Of a compressed text; of a longer one only the fingerprint is kept."""
MAX_READ_TEXTS = 100

_LIST, _PIN, _TEXTS = "list#", "pin#", "#texts"

type ListOwner = tuple[str, str]
EVERYBODY: ListOwner = ("", "")


@dataclass(frozen=True, slots=True)
class CachedListing:
    """A server's listing and when it was read; valid `until` a time by the wall clock."""

    listing: Listing
    digest: str
    until: float

    @property
    def is_stale(self) -> bool:
        """Whether the server should be asked again."""
        return time.time() >= self.until


@dataclass(frozen=True)
class ServerState:
    """A server as one caller sees it: its listing, if it ever answered, and its approved tools by name.

    After a `failure` it is asked again at `retry_at`, by the wall clock.
    """

    cached: CachedListing | None = None
    pins: Mapping[str, Pin] = field(default_factory=dict)
    failure: McpistError | None = None
    owner: ListOwner = EVERYBODY
    """Who the list is for, and its approvals of resources and prompts, if the server says that it is private."""
    checked_at: float = 0.0
    retry_at: float = 0.0

    @property
    def may_wait(self) -> bool:
        """Whether the server need not be asked now: its list is still valid, or it failed a moment ago."""
        return bool(self.cached and not self.cached.is_stale) or time.time() < self.retry_at

    @cached_property
    def version(self) -> tuple[str, int, str]:
        """A value that changes whenever the modules made from this state could change."""
        approved = hash(frozenset((pin.tool, pin.fingerprint) for pin in self.pins.values()))
        return self.cached.digest if self.cached else "", approved, repr(self.failure) if self.failure else ""


type Fetch = Callable[[], Listing]

_memory: Memory[tuple[str, ListOwner], ServerState] = Memory(math.inf, MAX_MEMORY_ENTRIES)


def server_state(server: str, owner: ListOwner = EVERYBODY, max_age: float = MEMORY_TTL_SECONDS) -> ServerState:
    """Return the list without asking the server: from memory, if it is no older than `max_age`, or the table.

    If the table cannot be read, no tool is offered: without the approvals no tool can be trusted.
    """
    found = _memory.get((server, owner)) or ServerState()
    if 0 <= time.time() - found.checked_at < max_age:
        return found
    try:
        cached, approved = _read(server, owner)
    except StoreUnavailable as error:
        return ServerState(failure=error, retry_at=time.time() + RETRY_DELAY_SECONDS)
    failure = None if cached and not cached.is_stale else found.failure
    whose = owner if cached and cached.listing.scope == "private" else EVERYBODY
    state = replace(found, cached=cached, pins=approved, failure=failure, owner=whose, checked_at=time.time())
    return _memory.put((server, owner), state)


def refreshed(server: str, owner: ListOwner, fetch: Fetch) -> ServerState:
    """Return the server's list, after asking it if the known one is stale; if it fails, the last list and why."""
    found = server_state(server, owner)
    if found.may_wait:
        return found
    try:
        cached = store(server, owner, fetch())
    except McpistError as error:  # after connecting an account nobody should have to wait
        retry_at = time.time() + RETRY_DELAY_SECONDS if error.retryable else 0.0
        return _memory.put((server, owner), replace(found, failure=error, retry_at=retry_at))
    whose = owner if cached.listing.scope == "private" else EVERYBODY
    return _memory.put((server, owner), replace(found, cached=cached, failure=None, owner=whose, retry_at=0.0))


def note_answer(server: str, owner: ListOwner, failure: McpistError | None) -> None:
    """Remember whether a server answered a moment ago: the list that memory holds of it says so at once."""
    found = _memory.get((server, owner))
    if found is not None and found.cached and bool(found.failure) != bool(failure):
        _memory.put((server, owner), replace(found, failure=failure))


def store(server: str, owner: ListOwner, listing: Listing) -> CachedListing:
    """Store what a server offers, for everybody unless it says that the list is this owner's alone."""
    offered = {name: value for name, value in listing_to_json(listing).items() if name not in {"ttl_seconds", "scope"}}
    content = json.dumps(offered, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(content.encode(errors="replace")).hexdigest()
    ttl = DEFAULT_TTL_SECONDS if listing.ttl_seconds is None else listing.ttl_seconds
    until = time.time() + min(max(ttl, MIN_TTL_SECONDS), MAX_TTL_SECONDS)
    packed = zlib.compress(content.encode(errors="replace"))
    parts = [packed[start : start + MAX_PART_BYTES] for start in range(0, len(packed), MAX_PART_BYTES)]
    partition = _partition(server, owner if listing.scope == "private" else EVERYBODY)
    head = {"digest": digest, "parts": len(parts), "until": int(until), "scope": listing.scope}
    head |= {"configured": _server_digest(server), "expires_at": int(time.time()) + RETENTION_DAYS * 86_400}
    # The first part is written last: it says that the others exist.
    for number, part in reversed(list(enumerate(parts))):
        _table().set(partition, f"{_LIST}{number}", {**head, "content": part})
    return CachedListing(listing, digest, until)


def pins(server: str, owner: ListOwner = EVERYBODY) -> dict[str, Pin]:
    """Return the approvals of a server's items from the table; those for everybody win over the owner's own."""
    found: dict[str, Pin] = {}
    for whose in dict.fromkeys((owner, EVERYBODY)):
        found |= _pins(_table().query(_partition(server, whose), _PIN))
    return found


def approve(server: str, approved: Iterable[Pin], *, again: bool = True, owner: ListOwner = EVERYBODY) -> None:
    """Store approvals; unless `again`, only of items that have none: the first sandbox to see an item pins it.

    Some are written at once: a server may have thousands of tools.
    """
    partition = _partition(server, owner)

    def write(pin: Pin) -> None:
        with suppress(ConditionFailed):
            approval = {"fingerprint": pin.fingerprint, "by": pin.by, "approved_at": pin.approved_at}
            condition = "" if again else "attribute_not_exists(#fingerprint)"
            _table().set(partition, f"{_PIN}{pin.tool}", approval, condition=condition)
            text = zlib.compress(pin.text.encode())  # in place of the text of the approval before
            if pin.text and len(text) <= MAX_TEXT_BYTES:
                _table().set(f"{partition}{_TEXTS}", pin.tool, {"content": text})

    with ThreadPoolExecutor(MAX_CONCURRENT_WRITES) as workers:
        list(workers.map(write, approved))
    forget(server)


def approved_texts_of(server: str, pins: Mapping[str, Pin]) -> dict[str, str]:
    """Return the texts that were approved for everybody, of 100 tools at most; long ones have none."""
    partition = f"{_partition(server, EVERYBODY)}{_TEXTS}"
    items = _table().get_many([(partition, name) for name in list(pins)[:MAX_READ_TEXTS]])
    found = {item["sk"]: zlib.decompress(item["content"]) for item in items}
    return {
        name: content.decode()
        for name, content in found.items()
        if hashlib.sha256(content).hexdigest() == pins[name].fingerprint
    }


def forget(server: str) -> None:
    """Drop what memory holds of a server: the table is read again."""
    _memory.drop(lambda key, _: key[0] == server)


def _read(server: str, owner: ListOwner) -> tuple[CachedListing | None, dict[str, Pin]]:
    """Read the list and the pins from the table: everybody's list, or else the owner's."""
    items = _table().query(_partition(server, EVERYBODY))
    cached = _cached_listing(server, items)
    if cached is None and owner != EVERYBODY:
        own = _table().query(_partition(server, owner))
        return _cached_listing(server, own), {**_pins(own), **_pins(items)}
    return cached, _pins(items)


def _cached_listing(server: str, items: Iterable[Item]) -> CachedListing | None:
    """Join a list from its parts; None while another sandbox writes them, or if another server wrote them."""
    parts = {item["sk"]: item for item in items if item["sk"].startswith(_LIST)}
    first = parts.get(f"{_LIST}0")
    if first is None or first["configured"] != _server_digest(server):
        return None
    selected_parts = [parts.get(f"{_LIST}{number}", {}) for number in range(first["parts"])]
    if any(part.get("digest") != first["digest"] for part in selected_parts):
        return None
    content = json.loads(zlib.decompress(b"".join(part["content"] for part in selected_parts)))
    listing = listing_from_json(content, ttl_seconds=None, scope=first["scope"])
    return CachedListing(listing, first["digest"], first["until"])


def _pins(items: Iterable[Item]) -> dict[str, Pin]:
    return {
        (tool := item["sk"].removeprefix(_PIN)): Pin(tool, item["fingerprint"], item["by"], item["approved_at"])
        for item in items
        if item["sk"].startswith(_PIN)
    }


def _server_digest(server: str) -> str:
    """Return a digest that distinguishes servers configured under one name; no reference is resolved for it."""
    try:
        identifying = server_of(server).model_dump_json(include={"type", "command", "args", "url"})
    except LookupError:
        identifying = ""
    return hashlib.sha256(identifying.encode()).hexdigest()[:16]


def _partition(server: str, owner: ListOwner) -> str:
    return "#".join([partition_of(server), *filter(None, owner)])


def _table() -> Table:
    return Table(settings().ledger_table, "upstream lists")
