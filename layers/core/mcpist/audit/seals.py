"""Seals of the audit: a chain of hashes over an organization's rows, in a table that no door can write.

The janitor seals rows some minutes after they were written. A seal covers the rows of a part of one day, names the
digest of the seal before it, and ends where the next one begins. Items: `pk` ORGANIZATION, `sk` its first moment.
"""

import hashlib
import heapq
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import batched, pairwise

from mcpist.audit.record import SECONDS_PER_DAY, audit_table, partitions_of, timestamp
from mcpist.aws.attributes import Item, decode, encode
from mcpist.aws.clients import ConditionFailed
from mcpist.aws.table import IS_NEW, Table
from mcpist.settings import settings

SEAL_DELAY = timedelta(minutes=10)
"""Rows younger than this are not sealed yet: one may still be on its way."""
MAX_SEALED_ROWS = 2_000
HASH_BYTES = 8
"""The part of each row's hash that a seal stores, to name the rows that differ; the digest covers the whole hashes."""
# Seals outlive their rows, so that the chain has no hole before its end.
SEAL_EXTRA_DAYS = 30


@dataclass(frozen=True, slots=True)
class Seal:
    """The rows of one organization from one moment to another, within one day."""

    organization: str
    since: str
    """The sort key at which it begins."""
    until: str
    """The sort key before which it ends."""
    hashes: bytes
    """The first bytes of the hash of each row, in the rows' order."""
    rows_expire_at: int
    """When its rows begin to expire, in epoch seconds, by the janitor's setting: no row says it of itself."""
    previous: str
    """The digest of the seal before it; empty for the first one."""
    digest: str
    """The digest of all that, with the rows' whole hashes."""

    @property
    def count(self) -> int:
        """The number of its rows."""
        return len(self.hashes) // HASH_BYTES

    def short_hashes(self) -> list[bytes]:
        """Return the stored part of each row's hash."""
        return [bytes(part) for part in batched(self.hashes, HASH_BYTES, strict=True)]


def make_seal(organization: str, since: str, until: str, rows: Sequence[Item], previous: str, expires: int) -> Seal:
    """Return the seal of the rows between two sort keys, which are in their order."""
    hashes = [row_hash(row) for row in rows]
    header = json.dumps([1, organization, since, until, expires, previous, len(rows)])
    digest = hashlib.sha256(header.encode() + b"".join(hashes)).hexdigest()
    short = b"".join(one[:HASH_BYTES] for one in hashes)
    return Seal(organization, since, until, short, expires, previous, digest)


def row_hash(row: Item) -> bytes:
    """Return the hash of all attributes of a row, those included that no release of ours writes."""
    text = json.dumps(row, sort_keys=True, separators=(",", ":"), default=repr)
    return hashlib.sha256(text.encode()).digest()


def seal_organization(organization: str, now: datetime) -> int:
    """Seal the rows since the last seal and return how many; a day that has ended has a seal even without rows."""
    last = latest_seal(organization)
    begin = last.until if last else timestamp(now - timedelta(days=1))[:10]
    previous, sealed = last.digest if last else "", 0
    for since, until in _parts(begin, now - SEAL_DELAY):
        for seal in _seals(organization, since, until, previous):
            try:
                seals_table().put(_item(seal), condition=IS_NEW)
            except ConditionFailed:
                # Another run of the janitor was faster. Its chain counts, or there would be two.
                return sealed
            previous, sealed = seal.digest, sealed + seal.count
    return sealed


def latest_seal(organization: str) -> Seal | None:
    """Return the last seal of an organization."""
    items, _ = seals_table().query_page("pk", organization, ("0", "~"), limit=1, descending=True)
    return decode(Seal, items[0]) if items else None


def seals_from(organization: str, since: str) -> Iterator[Seal]:
    """Iterate over the seals that begin at a moment or later, one request a page."""
    return map(partial(decode, Seal), _items(seals_table(), organization, since, "~"))


def rows_between(organization: str, since: str, until: str) -> Iterator[Item]:
    """Iterate over the rows from one sort key to before another, in their order."""
    partitions = [_items(audit_table(), partition, since, until) for partition in partitions_of(organization)]
    return (row for row in heapq.merge(*partitions, key=lambda row: str(row["sk"])) if row["sk"] < until)


def _items(table: Table, partition: str, first: str, last: str) -> Iterator[Item]:
    """Iterate over the items of a partition from one sort key to another, one request a page."""
    start = first
    while start:
        items, end = table.query_page("pk", partition, (start, last))
        # A range includes its ends: a further page begins with the item at which the one before ended.
        yield from (item for item in items if item["sk"] > start or start == first)
        start = end


def _parts(begin: str, end: datetime) -> Iterator[tuple[str, str]]:
    """Yield the parts of days from a sort key to a moment; the last one may end within its day."""
    day, last = datetime.fromisoformat(begin[:10]).replace(tzinfo=UTC), timestamp(end)
    days = [f"{day + timedelta(days=number):%Y-%m-%d}" for number in range((end - day).days + 1)]
    moments = [begin, *(one for one in days if begin < one <= last)]
    yield from pairwise(moments)
    if moments[-1] < last:
        yield moments[-1], last


def _seals(organization: str, since: str, until: str, previous: str) -> Iterator[Seal]:
    """Yield the seals of a part of a day; none if it has no rows and its day goes on."""
    waiting: list[Item] = []
    for row in rows_between(organization, since, until):
        if len(waiting) == MAX_SEALED_ROWS:
            seal = make_seal(organization, since, row["sk"], waiting, previous, _expiry(since))
            yield seal
            since, previous, waiting = seal.until, seal.digest, []
        waiting.append(row)
    # A day without rows has a seal, too: else the removal of all its rows could not be told from a quiet day.
    ends_day = len(until) == len("2026-11-22")
    if waiting or ends_day:
        yield make_seal(organization, since, until, waiting, previous, _expiry(since))


def _expiry(since: str) -> int:
    """Return when the rows of a seal begin to expire."""
    begin = datetime.fromisoformat(since.partition("#")[0])
    return int(begin.replace(tzinfo=UTC).timestamp()) + settings().audit_days * SECONDS_PER_DAY


def _item(seal: Seal) -> Item:
    now = datetime.now(UTC).timestamp()
    kept = (settings().audit_days + SEAL_EXTRA_DAYS) * SECONDS_PER_DAY
    return {"pk": seal.organization, "sk": seal.since, **encode(seal), "expires_at": int(now) + kept}


def seals_table() -> Table:
    """Return the table of the seals."""
    return Table(settings().seals_table, "seals")
