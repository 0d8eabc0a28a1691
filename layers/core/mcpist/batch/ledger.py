"""The ledger: a batch's steps, their results, and how each of them settles exactly once.

Items, all under `pk` ORGANIZATION#BATCH:
    batch       the header: who started it, what waits for what, and `seq`, the order in which steps settled
    step#007    one step: its tool and params, who claims it, and its status with a result, a file or an error
A step has settled when the header says so; its item has the status before that.
"""

import json
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from mcpist import files
from mcpist.batch.graph import opened
from mcpist.errors import BatchNotFound, PayloadTooLarge
from mcpist.settings import settings
from mcpist.stores import Item, Table, refused

FORMAT = 1
INLINE_BYTES = 16_384
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
    seq: Mapping[int, int]
    outcome: Mapping[int, Status]

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
    """A step's item."""

    index: int
    id: str
    module: str
    tool: str
    effect: str
    params: dict[str, Any]
    output: bool
    raw_output: bool
    claim: Claim | None
    status: Status | None
    content: bytes | None = field(repr=False)
    file: Mapping[str, Any] | None
    error: Mapping[str, Any] | None
    started_at: float | None
    ended_at: float | None


def partition(organization: str, batch: str) -> str:
    """The key that a batch's items stand under, and the only thing that a machine knows."""
    return f"{organization}#{batch}"


def write(header: Header, entries: Iterable[Entry]) -> None:
    """Keep a new batch: its header and its steps, 25 items a request."""
    _table().put_many([_header_item(header), *(_entry_item(header, entry) for entry in entries)])


def header(pk: str) -> Header:
    """A batch's header as it is now."""
    item = _table().get(pk, "batch")
    if item is None:
        raise BatchNotFound(batch=pk.partition("#")[2])
    return _header(item)


def entries(pk: str, steps: Sequence[int] | None = None) -> list[Entry]:
    """The items of some steps, or of all, in the order of the batch."""
    if steps is None:
        items = _table().query(pk, "step#")
    else:
        items = _table().get_many([(pk, _step_key(step)) for step in steps])
    return sorted(map(_entry, items), key=lambda entry: entry.index)


def enter(pk: str, step: int) -> tuple[Header, Entry]:
    """The header and a step's item, in one request."""
    items = {item["sk"]: item for item in _table().get_many([(pk, "batch"), (pk, _step_key(step))])}
    if len(items) < 2:
        raise BatchNotFound(batch=pk.partition("#")[2])
    return _header(items["batch"]), _entry(items[_step_key(step)])


def claim(pk: str, entry: Entry, mine: Claim) -> bool:
    """Claim a step as it was read: unclaimed, or by a claim that is dead now; whether it is ours."""
    expected = "#claim.#owner = :before" if entry.claim else "attribute_not_exists(#claim)"
    values: Item = {":claim": _claim_item(mine), ":now": _milliseconds(), ":mine": mine.owner}
    try:
        _table().update(
            pk,
            _step_key(entry.index),
            "SET #claim = :claim, #started_at = :now",
            values=values | ({":before": entry.claim.owner} if entry.claim else {}),
            condition=f"attribute_not_exists(#status) AND ({expected} OR #claim.#owner = :mine)",
        )
    except Exception as error:
        if refused(error):
            return False
        raise
    return True


def finish(
    head: Header, entry: Entry, owner: str | None, status: Status, *, raw: Any = None, error: Item | None = None
) -> Entry:
    """Store how a step ended, for the claim's owner, or for nobody's claim; the item as it then is.

    Where the step has ended already, or another sandbox claims it, that stands.
    """
    change: Item = {"status": status, "ended_at": _milliseconds()}
    if status == "succeeded":
        change |= _result(head.organization, raw)
    if error is not None:
        change["error"] = json.dumps(error)
    held = "#claim.#owner = :owner" if owner else "attribute_not_exists(#claim)"
    try:
        item = _table().update(
            head.pk,
            _step_key(entry.index),
            "SET " + ", ".join(f"#{name} = :{name}" for name in change),
            values={f":{name}": value for name, value in change.items()} | ({":owner": owner} if owner else {}),
            condition=f"attribute_not_exists(#status) AND {held}",
        )
    except Exception as failure:
        if refused(failure):
            return entries(head.pk, [entry.index])[0]
        raise
    return _entry(item)


def settle(pk: str, step: int, status: Status) -> Header:
    """Put a step that has ended into the header's order, once; the header as it is afterwards."""
    try:
        item = _table().update(
            pk,
            "batch",
            f"SET #seq.#s{step} = #settled, #outcome.#s{step} = :status, #settled = #settled + :one",
            values={":status": status, ":one": 1},
            condition=f"attribute_not_exists(#seq.#s{step})",
        )
    except Exception as error:
        if refused(error):
            return header(pk)
        raise
    return _header(item)


def close(head: Header) -> Header:
    """Settle what has not settled after `closes_at`; a sandbox that still holds a live claim settles by itself."""
    if head.done or time.time() < head.closes_at:
        return head
    open_steps = [step for step in range(len(head.ids)) if step not in head.seq]
    for open_entry in entries(head.pk, open_steps):
        entry = open_entry
        if entry.status is None:
            if entry.claim and entry.claim.until > time.time():
                continue
            entry = finish(head, entry, entry.claim.owner if entry.claim else None, verdict(entry, "cancelled"))
        if entry.status is not None:
            head = settle(head.pk, entry.index, entry.status)
    return head


def verdict(entry: Entry, unclaimed: Status) -> Status:
    """How a step ends whose sandbox is gone: a read has failed, a write may have happened."""
    if entry.claim is None:
        return unclaimed
    return "failed" if entry.effect == "reads" else "unknown"


def raw(head: Header, entry: Entry) -> Any:
    """The JSON that a succeeded step brought."""
    content = entry.content if entry.content is not None else files.get(head.organization, (entry.file or {})["path"])
    return json.loads(zlib.decompress(content))


def _result(organization: str, raw: Any) -> Item:
    """A result inline up to 16 KB compressed, else as a file."""
    content = zlib.compress(json.dumps(raw, ensure_ascii=False, separators=(",", ":")).encode())
    if len(content) <= INLINE_BYTES:
        return {"content": content}
    return {"file": files.put(organization, content, "application/zlib").as_dict()}


def _header_item(head: Header) -> Item:
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


def _header(item: Item) -> Header:
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


def _entry_item(head: Header, entry: Entry) -> Item:
    params = zlib.compress(json.dumps(entry.params, ensure_ascii=False).encode())
    if len(params) > PARAMS_BYTES:
        raise PayloadTooLarge(size_bytes=len(params), limit_bytes=PARAMS_BYTES)
    return {
        "pk": head.pk,
        "sk": _step_key(entry.index),
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


def _entry(item: Item) -> Entry:
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
        error=json.loads(item["error"]) if "error" in item else None,
        started_at=_seconds(item.get("started_at")),
        ended_at=_seconds(item.get("ended_at")),
    )


def _claim_item(claim: Claim) -> Item:
    return {
        "owner": claim.owner,
        "execution": claim.execution,
        "retry": claim.retry,
        "until": int(claim.until * 1000),
    }


def _milliseconds() -> int:
    return int(time.time() * 1000)


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _step_key(step: int) -> str:
    return f"step#{step:03}"


def _table() -> Table:
    return Table(settings().ledger_table, "ledger")
