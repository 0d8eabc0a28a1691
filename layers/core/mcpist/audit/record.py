"""The audit table: one row per use, connection, refresh, failure, revocation and change; appended and never changed.

Refused ones have a row, too, whose outcome is the error's code.
No argument, result or secret is in it. Items: `pk` ORGANIZATION#SHARD, `sk` TIME#ID; the indexes `by_user`
(ORGANIZATION#USER), `by_service` (ORGANIZATION#SERVICE#SHARD) and `by_failure` (ORGANIZATION#SHARD), in which only
refusals and errors are, sort the same rows by time.
"""

import logging
import secrets
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, Unpack

from mcpist.aws.attributes import Item
from mcpist.aws.clients import AwsError
from mcpist.aws.table import IS_NEW, Table, holds
from mcpist.caller import NO_CLIENT, Caller, ClientInfo
from mcpist.errors import AnswerWithheld, StoreUnavailable
from mcpist.settings import settings
from mcpist.telemetry import invocation
from mcpist.telemetry.metrics import AUDIT_ROWS_LOST

if TYPE_CHECKING:
    from mcpist.audit.rows import AuditColumns

SECONDS_PER_DAY = 86_400
SHARDS = 4  # with another number a row that is stored already would not be found by its id
MAX_KEY_ATTEMPTS = 3
# The service of rows about people, roles and the organization.
ADMINISTRATION = "administration"
# The user of changes that somebody with rights in AWS made.
OPERATOR = "operator"
# The user of changes that the company's directory makes.
DIRECTORY = "directory"
RESERVED_USERS = (OPERATOR, DIRECTORY)
SIGN_IN = "console.sign_in"

logger = logging.getLogger(__name__)

_collected: ContextVar[list[Item] | None] = ContextVar("collected_rows", default=None)

type Event = Literal[
    "use", "connect", "refresh", "failure", "revoke", "kill", "change", "look", "approval", "sign_in", "sign_out"
]


def record_use(
    caller: Caller, module: str, tool: str, /, *, kept: Sequence[Item] = (), **columns: "Unpack[AuditColumns]"
) -> None:
    """Append a row about the use of a tool, with columns such as the account, the outcome and the request.

    `kept` are new items of the ledger about its change, which are written with the row.
    """
    row = _row_of(caller, {**columns, "event": "use", "service": module, "tool": f"{module}.{tool}"})
    if kept or (rows := _collected.get()) is None:
        write_row(row, kept)
    else:
        rows.append(row)


@contextmanager
def collect_rows() -> Iterator[list[Item]]:
    """Collect the rows of uses in this context, and yield them for a caller who stores them with what came of these."""
    rows: list[Item] = []
    before = _collected.set(rows)
    try:
        yield rows
    finally:
        _collected.reset(before)


def collects_rows() -> bool:
    """Whether the rows of uses are collected."""
    return _collected.get() is not None


def write_collected(rows: Iterable[Item]) -> None:
    """Append rows of uses that were collected, of which some may be stored already."""
    for row in rows:
        with of_use():
            _put_new(row, ())


def record_account(caller: Caller, event: Event, service: str, /, **columns: "Unpack[AuditColumns]") -> None:
    """Append a row about an account: it was connected, refreshed, refused or revoked."""
    write_row(_row_of(caller, {**columns, "event": event, "service": service}))


def record_look(
    caller: Caller, *, action: str, batch: str, request: str, after: Mapping[str, Any] | None = None
) -> None:
    """Append a row about an administrator who reads or steers another user's batch."""
    about: AuditColumns = {"event": "look", "service": "batch", "tool": action, "outcome": "succeeded"}
    about |= {"request": request, "target": f"batches.{batch}", "batch": batch, "after": after}
    write_row(_row_of(caller, about))


def approval_row(caller: Caller, action: str, approval: str, /, **columns: "Unpack[AuditColumns]") -> Item:
    """Return the row of what a person or a program does with an approval, such as `approvals.approve`."""
    known: AuditColumns = {"target": f"approvals.{approval}", **columns}
    return administration_row(caller, "approval", f"approvals.{action}", **known)


def record_change(caller: Caller, *, action: str, **columns: "Unpack[AuditColumns]") -> None:
    """Append a row about a change by an administrator, or about its refusal: what changed, before and after."""
    record_event(caller, "change", action, **columns)


def record_event(caller: Caller, event: Event, action: str, /, **columns: "Unpack[AuditColumns]") -> None:
    """Append such a row about another event."""
    write_row(administration_row(caller, event, action, **columns))


def administration_row(caller: Caller, event: Event, action: str, /, **columns: "Unpack[AuditColumns]") -> Item:
    """Return the row of what an administrator does: an action such as `users.update`, a target such as `users.uma`."""
    usual: AuditColumns = {"outcome": "succeeded", "request": invocation.request_id(), **columns}
    return _row_of(caller, {**usual, "event": event, "service": ADMINISTRATION, "tool": action})


def of_use() -> AbstractContextManager[None]:
    """Append rows of uses in this context; AnswerWithheld for one that is lost, where the owner demands all."""
    return best_effort(required=settings().audit_required)


@contextmanager
def best_effort(*, required: bool = False) -> Iterator[None]:
    """Append rows about the past: one that is lost is counted for an alarm, and raises AnswerWithheld if `required`."""
    try:
        yield
    except StoreUnavailable:
        logger.error("audit row lost", extra={"metric": AUDIT_ROWS_LOST.name})  # noqa: TRY400 - the cause quotes the row
        invocation.count_now(AUDIT_ROWS_LOST)
        if required:
            raise AnswerWithheld(store="audit") from None


def new_row(organization: str, client: ClientInfo = NO_CLIENT, **columns: "Unpack[AuditColumns]") -> Item:
    """Return the item of a row that is written now: the given columns, and those that the invocation decides."""
    now = datetime.now(UTC)
    row: Item = {
        **dict.fromkeys(("account", "tool", "batch"), ""),
        **columns,
        "roles": list(columns["roles"]),
        "correlation": invocation.correlation(),
        "trace": invocation.trace_id(),
        "door": invocation.door(),
        "client_name": client.name,
        "client_version": client.version,
        "client_id": client.id,
        "expires_at": int(now.timestamp()) + settings().audit_days * SECONDS_PER_DAY,
    }
    return keyed(row, organization, _sort_key(timestamp(now)))


def _row_of(caller: Caller, columns: "AuditColumns") -> Item:
    """Return the row of what a caller does."""
    whole: AuditColumns = {**columns, "user": caller.user, "roles": caller.role_names}
    return new_row(caller.organization, caller.client, **whole)


def keyed(row: Item, organization: str, sort_key: str) -> Item:
    """Return a row with its keys in the table and in the indexes."""
    keys = {
        "pk": partition_of(organization, sort_key),
        "sk": sort_key,
        "user_key": f"{organization}#{row['user']}",
        "service_key": partition_of(f"{organization}#{row['service']}", sort_key),
    }
    return row | keys | ({"failure_key": keys["pk"]} if is_failure(row["outcome"]) else {})


def _sort_key(moment: str) -> str:
    return f"{moment}#{secrets.token_hex(4)}"


def partition_of(name: str, sort_key: str) -> str:
    """Return the partition of a row with this sort key; `name` is the organization, or the key's begin in an index."""
    # A checksum, since Python's own hash of a text is another one in each process.
    return f"{name}#{zlib.crc32(sort_key.encode()) % SHARDS}"


def partitions_of(name: str) -> tuple[str, ...]:
    """Return all partitions of an organization's rows, or of one key of an index."""
    return tuple(f"{name}#{shard}" for shard in range(SHARDS))


def is_failure(outcome: str) -> bool:
    """Whether an outcome is the code of an error."""
    return outcome.isupper()


def write_row(row: Item, kept: Sequence[Item] = ()) -> None:
    """Write a row under a key that is new, so that no row replaces another one; StoreUnavailable if it cannot be.

    A refusal of the store is no other error: the operator must correct it, not the caller. What is `kept` of a change
    is written by the same request; where it cannot be, the row is written alone and names no change.
    """
    if kept:
        try:
            _write_new(row, kept)
        except StoreUnavailable:
            logger.error("change not kept")  # noqa: TRY400 - the cause quotes the items
            row = {name: value for name, value in row.items() if name != "change"}
        else:
            return
    _write_new(row)


def _write_new(row: Item, kept: Sequence[Item] = ()) -> None:
    for _ in range(MAX_KEY_ATTEMPTS):
        if _put_new(row, kept):
            return
        row = keyed(row, row["pk"].rpartition("#")[0], _sort_key(row["sk"].partition("#")[0]))
    raise StoreUnavailable(store="audit")


def _put_new(row: Item, kept: Sequence[Item]) -> bool:
    """Write a row, and what is kept with it in one transaction, and return whether its key was new.

    StoreUnavailable where the store refuses it.
    """
    try:
        if kept:
            items = {settings().ledger_table: list(kept)}
            return audit_table().transact([], [], guard=row, condition=IS_NEW, values={}, new_items=items)
        return holds(audit_table().put, row, condition=IS_NEW)
    except AwsError as error:
        raise StoreUnavailable(store="audit") from error


def timestamp(moment: datetime) -> str:
    """Return a time as text that sorts in the order of times."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def audit_table() -> Table:
    """Return the table of the rows."""
    return Table(settings().audit_table, "audit")
