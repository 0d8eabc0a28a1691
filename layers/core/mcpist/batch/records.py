"""What the ledger keeps of a batch: the header, its steps and their claims, as values and as items.

Times are seconds since the epoch here, and whole milliseconds in the table.
"""

import json
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mcpist.batch.graph import opened
from mcpist.errors import PayloadTooLarge
from mcpist.stores import Item

FORMAT = 1
PARAMS_BYTES = 300_000
KEEP_SECONDS = 86_400

type Status = Literal["succeeded", "failed", "skipped", "cancelled", "unknown"]


@dataclass(frozen=True, slots=True)
class Header:
    """A batch as all its readers see it; `seq[i]` is step i's place in the order of settling."""

    pk: str
    organization: str
    batch: str
    user: str
    issuer: str
    sub: str
    roles: tuple[str, ...]
    warrant: str = field(repr=False)
    ids: tuple[str, ...]
    needs: tuple[frozenset[int], ...]
    started_at: float
    closes_at: float
    seq: Mapping[int, int] = field(default_factory=dict)
    outcome: Mapping[int, Status] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        """Whether every step has settled."""
        return len(self.seq) == len(self.ids)

    def go(self, step: int) -> list[int]:
        """The steps that this step's settling opened."""
        return opened(self.needs, self.seq, step)

    def ready(self, step: int) -> bool:
        """Whether all that the step needs has settled."""
        return self.needs[step] <= self.seq.keys()

    def failed_needs(self, step: int) -> list[str]:
        """The ids of the steps that it needs and that did not succeed: for these it is skipped."""
        return [self.ids[need] for need in sorted(self.needs[step]) if self.outcome.get(need) != "succeeded"]


@dataclass(frozen=True, slots=True)
class Claim:
    """A sandbox's word that it runs a step, until a moment in seconds since the epoch."""

    owner: str
    execution: str
    retry: int
    until: float


@dataclass(frozen=True, slots=True)
class Entry:
    """A step: what it was asked for, who runs it, and how it ended, with a result, a file or an error message.

    `more` is how to go on with a result that is a list and was cut.
    """

    index: int
    id: str
    module: str
    tool: str
    effect: str
    params: dict[str, Any]
    output: bool
    raw_output: bool
    claim: Claim | None = None
    status: Status | None = None
    content: bytes | None = field(default=None, repr=False)
    file: Mapping[str, Any] | None = None
    more: str = ""
    error: Mapping[str, Any] | None = None
    started_at: float | None = None
    ended_at: float | None = None


def header_item(head: Header) -> Item:
    """A new batch's header as it is first written; nothing has settled."""
    return {
        "pk": head.pk,
        "sk": "batch",
        "format": FORMAT,
        "organization": head.organization,
        "batch": head.batch,
        "user": head.user,
        "issuer": head.issuer,
        "sub": head.sub,
        "roles": list(head.roles),
        "warrant": head.warrant,
        "ids": list(head.ids),
        "needs": [sorted(needs) for needs in head.needs],
        "started_at": int(head.started_at * 1000),
        "closes_at": int(head.closes_at * 1000),
        "seq": {},
        "outcome": {},
        "settled": 0,
        "expires_at": int(head.started_at) + KEEP_SECONDS,
    }


def read_header(item: Item) -> Header:
    """The header of an item."""
    return Header(
        pk=item["pk"],
        organization=item["organization"],
        batch=item["batch"],
        user=item["user"],
        issuer=item["issuer"],
        sub=item["sub"],
        roles=tuple(item["roles"]),
        warrant=item["warrant"],
        ids=tuple(item["ids"]),
        needs=tuple(map(frozenset, item["needs"])),
        started_at=item["started_at"] / 1000,
        closes_at=item["closes_at"] / 1000,
        seq={int(key[1:]): place for key, place in item["seq"].items()},
        outcome={int(key[1:]): status for key, status in item["outcome"].items()},
    )


def entry_item(head: Header, entry: Entry) -> Item:
    """A step as it is first written; PayloadTooLarge where its params do not fit into an item."""
    params = zlib.compress(json.dumps(entry.params, ensure_ascii=False).encode())
    if len(params) > PARAMS_BYTES:
        raise PayloadTooLarge(size_bytes=len(params), limit_bytes=PARAMS_BYTES)
    return {
        "pk": head.pk,
        "sk": step_key(entry.index),
        "index": entry.index,
        "id": entry.id,
        "module": entry.module,
        "tool": entry.tool,
        "effect": entry.effect,
        "params": params,
        "output": entry.output,
        "raw_output": entry.raw_output,
        "expires_at": int(head.started_at) + KEEP_SECONDS,
    }


def read_entry(item: Item) -> Entry:
    """The step of an item."""
    holder = item.get("claim")
    return Entry(
        index=item["index"],
        id=item["id"],
        module=item["module"],
        tool=item["tool"],
        effect=item["effect"],
        params=json.loads(zlib.decompress(item["params"])),
        output=item["output"],
        raw_output=item["raw_output"],
        claim=Claim(**{**holder, "until": holder["until"] / 1000}) if holder else None,
        status=item.get("status"),
        content=item.get("content"),
        file=item.get("file"),
        more=item.get("more", ""),
        error=json.loads(item["error"]) if "error" in item else None,
        started_at=_seconds(item.get("started_at")),
        ended_at=_seconds(item.get("ended_at")),
    )


def claim_item(claim: Claim) -> Item:
    """A claim as it stands in its step's item."""
    return {
        "owner": claim.owner,
        "execution": claim.execution,
        "retry": claim.retry,
        "until": int(claim.until * 1000),
    }


def milliseconds() -> int:
    """Now, as the table keeps it."""
    return int(time.time() * 1000)


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def step_key(step: int) -> str:
    """The sort key of a step's item."""
    return f"step#{step:03}"
