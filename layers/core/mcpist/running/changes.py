"""The journal of changes: the fields that a write has changed, as they were and became, and what undoes it.

Its content is sealed with the stack's data key, in its item or, where it is large, in a file. The audit row of the
write names it by an id in which the content's hash is.
Items of the ledger's table, under `pk` ORGANIZATION#changes#USER:
    ID                      a change, and by which request or batch it was undone
"""

import json
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Self
from urllib.parse import quote

from mcpist.audit import record as audit
from mcpist.aws.attributes import Item, decode
from mcpist.aws.clients import ConditionFailed
from mcpist.aws.table import ledger_table
from mcpist.caller import Caller
from mcpist.errors import AlreadyUndone, AuthorizationError, ChangeNotFound, IntegrityError
from mcpist.files import storage
from mcpist.files.content import JSON
from mcpist.files.records import DAY_SECONDS
from mcpist.telemetry import invocation
from mcpist.telemetry.metrics import INTEGRITY_FAILURES

KEPT_DAYS = 30  # as the bucket's rule in the template
MAX_LISTED = 100
MAX_PLAIN_BYTES = 512  # of a content that is not compressed: its item is a unit of capacity either way
MAX_ITEM_CONTENT_BYTES = 4_096  # of a compressed content, which a list reads with its item
ID_HASH_CHARACTERS = 24
TIME_CHARACTERS = 11
MAX_TIME = 16**TIME_CHARACTERS // 1000 - 1
_to_json = json.JSONEncoder(ensure_ascii=False, default=lambda _: None, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """A change of a user, without its content."""

    organization: str
    user: str
    id: str
    """It begins with the time, so that ids sort by it."""
    tool: str
    """The full name."""
    created_at: str
    """A date-time of RFC 3339."""
    expires_at: int
    """Seconds since the epoch."""
    sha256: str
    """The hash of the content."""
    account: str = ""
    """The label of the account that acted."""
    batch: str = ""
    step: str = ""
    """The id of the batch's step."""
    target: str = ""
    """A digest of the read of its target; empty where it has none."""
    creates: bool = False
    """Whether its target is new."""
    problem: str = ""
    """Why it cannot be undone; empty where it can."""
    undoes: str = ""
    """The change that it undoes, as the first call of its undo."""
    undone_by: str = ""
    """The batch or the request that undid it, or began to."""
    content: bytes | None = field(default=None, repr=False)
    """Its content, compressed unless it is tiny; None where it is large, and a file."""

    @property
    def is_undoable(self) -> bool:
        """Whether it can be undone, and has not been."""
        return not self.problem and not self.undone_by

    @property
    def pk(self) -> str:
        """The partition of its owner's changes."""
        return _pk(self.organization, self.user)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeContent:
    """The content of a change: all that its undo needs, and that a person reads of it."""

    tool: str
    arguments: Mapping[str, Any]
    answer: Any = None
    before: Any = None
    """The JSON of the declared read before the write."""
    was: Mapping[str, Any] = field(default_factory=dict)
    """The fields that it changed, as they were."""
    became: Mapping[str, Any] = field(default_factory=dict)
    """The same fields as it left them."""
    read: str = ""
    target: Mapping[str, Any] = field(default_factory=dict)
    """The arguments of the read."""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    """The tools of the module that undo it, with their arguments."""
    nonce: str = ""
    """The request that made it, so that no two contents are the same."""

    @classmethod
    def of_json(cls, content: bytes) -> Self:
        """Return the content that a file holds."""
        return cls(**json.loads(content))

    def as_json(self) -> bytes:
        """Return the content of its file; bytes among the arguments are left out."""
        return _to_json({name: getattr(self, name) for name in self.__slots__}).encode(errors="replace")


def new_item(caller: Caller, tool: str, content: ChangeContent, *, creates: bool = False, **more: str) -> Item:
    """Return the ledger's item of a change of its caller; `more` are further fields of it.

    A large content is stored as a file: StoreUnavailable.
    """
    stored, moment = content.as_json(), time.time()
    sha256 = storage.digest_of(stored)
    packed = stored if len(stored) <= MAX_PLAIN_BYTES else zlib.compress(stored, 1)  # 6 takes twice the CPU
    if len(packed) > MAX_ITEM_CONTENT_BYTES:
        storage.store(storage.change_path(caller.organization, caller.user, sha256), stored, JSON)
    target = _to_json([content.read, content.target]).encode(errors="replace") if content.read else b""
    id_ = f"c_{_time_part(moment)}{sha256[:ID_HASH_CHARACTERS]}"
    # As `encode` makes it of a record, in a third of its CPU.
    return {
        "pk": _pk(caller.organization, caller.user),
        "sk": id_,
        "organization": caller.organization,
        "user": caller.user,
        "id": id_,
        "tool": tool,
        "created_at": datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds"),
        "expires_at": int(moment) + KEPT_DAYS * DAY_SECONDS,
        "sha256": sha256,
        "creates": creates,
        **({"target": storage.digest_of(target)} if target else {}),
        **({"content": packed} if len(packed) <= MAX_ITEM_CONTENT_BYTES else {}),
        **{name: value for name, value in more.items() if value},
    }


def load(record: ChangeRecord) -> ChangeContent:
    """Return the content of a change after a check of its hash."""
    if record.content is None:
        path = storage.change_path(record.organization, record.user, record.sha256)
        return ChangeContent.of_json(storage.load(path, record.sha256))
    stored = record.content if record.content.startswith(b"{") else zlib.decompress(record.content)
    if storage.digest_of(stored) != record.sha256:
        invocation.count_now(INTEGRITY_FAILURES)
        raise IntegrityError(what=f"the change {record.id}")
    return ChangeContent.of_json(stored)


def find(caller: Caller, change: str) -> ChangeRecord:
    """Return a change of the caller, or for an administrator that of USER/ID; ChangeNotFound."""
    user, _, id_ = change.rpartition("/")
    _require(caller, user, "changes.show", change)
    item = ledger_table().get(_pk(caller.organization, user or caller.user), id_)
    if item is None or item["expires_at"] <= time.time():
        raise ChangeNotFound(change=change)
    return decode(ChangeRecord, item)


def list_changes(
    caller: Caller,
    *,
    user: str = "",
    batch: str = "",
    since: float = 0,
    until: float = MAX_TIME,
    limit: int = MAX_LISTED,
) -> list[ChangeRecord]:
    """Return changes of the caller, or for an administrator those of another user, the newest first."""
    _require(caller, user, "changes.list", user or caller.user)
    found: list[ChangeRecord] = []
    first, last, pk = f"c_{_time_part(since)}", f"c_{_time_part(until)}~", _pk(caller.organization, user or caller.user)
    while last and len(found) < limit:
        items, last = ledger_table().query_page("pk", pk, (first, last), descending=True, consistent=True)
        records = (decode(ChangeRecord, item) for item in items)
        found += [one for one in records if batch in {"", one.batch} and one.expires_at > time.time()]
    return found[:limit]


def summary(caller: Caller, record: ChangeRecord) -> dict[str, Any]:
    """Return a change as a list shows it to a caller."""
    names = ("tool", "created_at", "expires_at", "batch", "step", "undone_by")
    own = {"id": reference(caller, record), "undoable": record.is_undoable, "reason": record.problem}
    return own | {name: getattr(record, name) for name in names}


def detail(caller: Caller, change: str) -> dict[str, Any]:
    """Return a change with its content: the fields as they were and became, and the calls that undo it."""
    record = find(caller, change)
    content = load(record)
    calls = [{"tool": tool, "params": arguments} for tool, arguments in content.calls]
    fields = {"arguments": content.arguments, "was": content.was, "became": content.became}
    return summary(caller, record) | fields | {"calls": calls}


def claim(record: ChangeRecord, by: str) -> None:
    """Let nobody else undo a change; AlreadyUndone where somebody has, or has begun to."""
    try:
        ledger_table().set_once(
            record.pk, record.id, {"undone_by": by}, writer="claim", condition="attribute_not_exists(#undone_by)"
        )
    except ConditionFailed:
        latest = ledger_table().get(record.pk, record.id) or {}
        raise AlreadyUndone(change=record.id, by=latest.get("undone_by", "")) from None


def release(record: ChangeRecord, by: str) -> None:
    """Let a change be undone again whose undo has changed nothing."""
    ledger_table().set(
        record.pk,
        record.id,
        {"released_at": int(time.time())},
        remove=["undone_by"],
        condition="#undone_by = :by",
        values={":by": by},
    )


def reference(caller: Caller, record: ChangeRecord) -> str:
    """Return how a caller names a change."""
    return record.id if record.user == caller.user else f"{record.user}/{record.id}"


def _require(caller: Caller, user: str, action: str, target: str) -> None:
    """Refuse changes of another user to all but administrators, whose look has an audit row."""
    if user in {"", caller.user}:
        return
    if caller.system_role != "admin":
        raise AuthorizationError(name="changes of others")
    audit.record_event(caller, "look", action, target=f"changes.{target}")


def _time_part(moment: float) -> str:
    return f"{int(moment * 1000):0{TIME_CHARACTERS}x}"


def _pk(organization: str, user: str) -> str:
    return f"{organization}#changes#{quote(user, safe='')}"
