"""Verification of the audit: rows and seals against the chain, and what differs."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from mcpist.audit.rows import row_of
from mcpist.audit.seals import HASH_BYTES, Seal, make_seal, row_hash, rows_between, seals_from
from mcpist.aws.attributes import Item
from mcpist.errors import InvalidRequest

MAX_PAGE_SEALS = 100
MAX_PAGE_SEALED_ROWS = 20_000
MAX_NAMED_ROWS = 100

_CURSOR = re.compile(r"\d{4}-\d\d-\d\d.*@[0-9a-f]{64}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class VerificationFinding:
    """A part of a day that is not as it was sealed."""

    kind: Annotated[
        Literal["rows", "seal", "chain"],
        Field(description="Rows were altered, removed or inserted; a seal was altered; a seal is missing or misplaced"),
    ]
    since: str
    until: str
    sealed: Annotated[int, Field(description="The number of rows when it was sealed")]
    found: Annotated[int, Field(description="The number of rows now")]
    missing: Annotated[int, Field(description="The sealed rows that are not there as they were")]
    unexpected: Annotated[
        tuple[str, ...], Field(description="The ids of rows that were altered or inserted; 100 at most")
    ]


@dataclass(frozen=True, slots=True)
class VerificationPage:
    """The result of comparing some seals with the chain and their rows."""

    findings: tuple[VerificationFinding, ...]
    seals: int
    rows: Annotated[int, Field(description="The rows that are as they were sealed")]
    expired: Annotated[int, Field(description="The rows that are not compared, since they expired")]
    # A later chain must contain it.
    head: Annotated[str, Field(description="The digest of the last seal: keep it elsewhere")]
    sealed_until: str
    contains_head: Annotated[bool, Field(description="Whether these seals contain the digest `head` of the request")]
    cursor: str
    """Where the next page begins, with the digest before it; empty on the last page."""


def verify(organization: str, now: datetime, *, since: str = "0", head: str = "", cursor: str = "") -> VerificationPage:
    """Verify a page of an organization's seals from a moment on, and the rows that they cover.

    The first seal of the range is believed about the digest before it; with the cursor of a page that page is.
    """
    if cursor and not _CURSOR.fullmatch(cursor):
        raise InvalidRequest(field="cursor", problem="it was not returned by this verification")
    place, _, previous = (cursor or f"{since}@").rpartition("@")
    checker = SealChecker(place if cursor else "", previous)
    for seal in seals_from(organization, place):
        if checker.is_full:
            return checker.result(head, f"{checker.until}@{checker.previous}")
        is_over = now.timestamp() >= seal.rows_expire_at
        checker.check(seal, None if is_over else rows_between(organization, seal.since, seal.until))
    return checker.result(head, "")


class SealChecker:
    """The state of a verification: what the next seal must follow."""

    def __init__(self, until: str = "", previous: str = "") -> None:
        self.until, self.previous = until, previous
        self.findings: list[VerificationFinding] = []
        self.digests: set[str] = set()
        self.seals = self.rows = self.expired = 0

    @property
    def is_full(self) -> bool:
        """Whether a page has no room for another seal."""
        return self.seals >= MAX_PAGE_SEALS or self.rows + self.expired >= MAX_PAGE_SEALED_ROWS

    def check(self, seal: Seal, rows: Iterable[Item] | None) -> None:
        """Compare a seal with the one before it, and with its rows; None for rows that have expired."""
        if self.until and (seal.since, seal.previous) != (self.until, self.previous):
            self.findings.append(VerificationFinding("chain", self.until, seal.since, seal.count, seal.count, 0, ()))
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

    def result(self, head: str, cursor: str) -> VerificationPage:
        """Return the findings so far; `head` is the digest that is looked for."""
        return VerificationPage(
            findings=tuple(self.findings),
            seals=self.seals,
            rows=self.rows,
            expired=self.expired,
            head=self.previous,
            sealed_until=self.until,
            contains_head=bool(head) and head in self.digests,
            cursor=cursor,
        )


def _difference(seal: Seal, rows: Sequence[Item]) -> VerificationFinding:
    """Return how rows differ from their seal; where they do not, the seal itself was altered."""
    found = [row_hash(row)[:HASH_BYTES] for row in rows]
    sealed = Counter(seal.short_hashes())
    missing = (sealed - Counter(found)).total()
    unexpected = tuple(str(row_of(row)["id"]) for row, short in zip(rows, found, strict=True) if not sealed[short])
    kind: Literal["rows", "seal"] = "rows" if missing or unexpected or seal.count != len(rows) else "seal"
    return VerificationFinding(
        kind, seal.since, seal.until, seal.count, len(rows), missing, unexpected[:MAX_NAMED_ROWS]
    )
