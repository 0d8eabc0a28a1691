"""Verification of the audit: rows and seals against the chain, and what differs."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from mcpist.audit.rows import row_of
from mcpist.audit.seals import HASH_BYTES, Seal, make_seal, row_hash, rows_between, seals_from
from mcpist.aws.attributes import Item
from mcpist.errors import InvalidRequest

MAX_PAGE_SEALS = 100
MAX_PAGE_SEALED_ROWS = 20_000
MAX_NAMED_ROWS = 100

_CURSOR = re.compile(r"\d{4}-\d\d-\d\d.*@[0-9a-f]{64}", re.DOTALL)

type FindingKind = Literal["rows", "seal", "chain"]
"""Rows were altered, removed, inserted or reordered; a seal was altered; a seal is missing or in a wrong place."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A part of a day that is not as it was sealed."""

    kind: FindingKind
    since: str
    until: str
    sealed: int
    """The number of rows when it was sealed."""
    found: int
    """The number of rows now."""
    missing: int = 0
    """How many sealed rows are not there as they were."""
    unexpected: tuple[str, ...] = ()
    """The ids of rows that were not sealed like this: altered or inserted."""


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of one page of seals."""

    findings: tuple[Finding, ...]
    seals: int = 0
    rows: int = 0
    """The rows that are as they were sealed."""
    expired: int = 0
    """The rows that are not checked, since their time is over."""
    head: str = ""
    """The digest of the last seal of the page. Keep it elsewhere: a later chain must contain it."""
    sealed_until: str = ""
    contains_head: bool = False
    """Whether the chain contains the digest that was given."""
    cursor: str = ""
    """Where the next page begins, with the digest before it; empty on the last page."""


def verify(organization: str, now: datetime, *, since: str = "0", head: str = "", cursor: str = "") -> Verification:
    """Verify a page of an organization's seals from a moment on, and the rows that they cover.

    The first seal of the range is believed about the digest before it; with the cursor of a page that page is.
    """
    if cursor and not _CURSOR.fullmatch(cursor):
        raise InvalidRequest(field="cursor", problem="it was not returned by this verification")
    place, _, previous = (cursor or f"{since}@").rpartition("@")
    checker = _Checker(place if cursor else "", previous)
    for seal in seals_from(organization, place):
        if checker.is_full:
            return checker.result(head, f"{checker.until}@{checker.previous}")
        is_over = now.timestamp() >= seal.rows_expire_at
        checker.check(seal, None if is_over else rows_between(organization, seal.since, seal.until))
    return checker.result(head, "")


def verify_chain(seals: Iterable[tuple[Seal, Iterable[Item]]]) -> tuple[Finding, ...]:
    """Verify seals in their order, each with the rows between its sort keys."""
    checker = _Checker()
    for seal, rows in seals:
        checker.check(seal, rows)
    return tuple(checker.findings)


class _Checker:
    """The state of a verification: what the next seal must follow."""

    def __init__(self, until: str = "", previous: str = "") -> None:
        self.until, self.previous = until, previous
        self.findings: list[Finding] = []
        self.digests: set[str] = set()
        self.seals = self.rows = self.expired = 0

    @property
    def is_full(self) -> bool:
        return self.seals >= MAX_PAGE_SEALS or self.rows + self.expired >= MAX_PAGE_SEALED_ROWS

    def check(self, seal: Seal, rows: Iterable[Item] | None) -> None:
        """Compare a seal with the one before it, and with its rows; None for rows that have expired."""
        if self.until and (seal.since, seal.previous) != (self.until, self.previous):
            self.findings.append(Finding("chain", self.until, seal.since, seal.count, seal.count))
        # After a fault the chain is followed from this seal on, so that one fault is found once.
        self.until, self.previous = seal.until, seal.digest
        self.digests.add(seal.digest)
        self.seals += 1
        if rows is None:
            self.expired += seal.count
            return
        present = list(rows)
        again = make_seal(seal.organization, seal.since, seal.until, present, seal.previous, seal.rows_expire_at)
        if again == seal:
            self.rows += seal.count
        else:
            self.findings.append(_difference(seal, present))

    def result(self, head: str, cursor: str) -> Verification:
        return Verification(
            findings=tuple(self.findings),
            seals=self.seals,
            rows=self.rows,
            expired=self.expired,
            head=self.previous,
            sealed_until=self.until,
            contains_head=bool(head) and head in self.digests,
            cursor=cursor,
        )


def _difference(seal: Seal, rows: Sequence[Item]) -> Finding:
    """Return how rows differ from their seal; where they do not, the seal itself was altered."""
    found = [row_hash(row)[:HASH_BYTES] for row in rows]
    sealed = Counter(seal.short_hashes())
    missing = (sealed - Counter(found)).total()
    unexpected = tuple(str(row_of(row)["id"]) for row, short in zip(rows, found, strict=True) if not sealed[short])
    kind: FindingKind = "rows" if missing or unexpected or seal.count != len(rows) else "seal"
    return Finding(kind, seal.since, seal.until, seal.count, len(rows), missing, unexpected[:MAX_NAMED_ROWS])
