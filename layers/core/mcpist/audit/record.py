"""The audit table: one row per use, connection, refresh, failure, revocation and change; appended and never changed.

Refused ones have a row, too, whose outcome is the error's code.
No argument, result or secret is in it. Items: `pk` ORGANIZATION#SHARD, `sk` TIME#ID; the indexes `by_user`
(ORGANIZATION#USER), `by_service` (ORGANIZATION#SERVICE#SHARD) and `by_failure` (ORGANIZATION#SHARD), in which only
refusals and errors are, sort the same rows by time.
"""

import logging
import secrets
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Literal

from mcpist.aws.attributes import Item
from mcpist.aws.clients import AwsError, ConditionFailed
from mcpist.aws.table import IS_NEW, Table
from mcpist.caller import NO_CLIENT, Caller, ClientInfo
from mcpist.errors import StoreUnavailable
from mcpist.settings import settings
from mcpist.telemetry import invocation
from mcpist.telemetry.metrics import AUDIT_ROWS_LOST

SECONDS_PER_DAY = 86_400
SHARDS = 4  # with another number a row that is stored already would not be found by its id
MAX_KEY_ATTEMPTS = 3
# The service of rows about people, roles and the organization.
ADMINISTRATION = "administration"
# The user of changes that somebody with rights in AWS made.
OPERATOR = "operator"
SIGN_IN = "console.sign_in"

logger = logging.getLogger(__name__)

type Event = Literal["use", "connect", "refresh", "failure", "revoke", "kill", "change", "look", "sign_in", "sign_out"]


def record_use(
    caller: Caller,
    *,
    module: str,
    tool: str,
    outcome: str,
    request: str,
    account: str = "",
    batch: str = "",
    measures: Mapping[str, int] | None = None,
) -> None:
    """Append a row about the use of a tool: the user and roles, the tool, the account and the outcome.

    `measures` are numbers about the work of a program, for `savings`.
    """
    append_row(
        organization=caller.organization,
        user=caller.user,
        roles=caller.role_names,
        client=caller.client,
        event="use",
        service=module,
        account=account,
        tool=f"{module}.{tool}",
        outcome=outcome,
        request=request,
        batch=batch,
        measures=measures,
    )


def record_look(caller: Caller, *, action: str, batch: str, request: str) -> None:
    """Append a row about an administrator who reads or steers another user's batch."""
    row = administration_row(caller, "look", action=action, request=request, target=f"batches.{batch}")
    write_row(keyed({**row, "service": "batch", "batch": batch}, caller.organization, row["sk"]))


def record_refused_sign_in(caller: Caller, code: str, target: str) -> None:
    """Append a row about a known person who was not let in to the console."""
    request = invocation.request_id()
    write_row(administration_row(caller, "sign_in", action=SIGN_IN, request=request, target=target, outcome=code))


def record_change(
    caller: Caller,
    *,
    action: str,
    target: str,
    request: str,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    outcome: str = "succeeded",
) -> None:
    """Append a row about a change by an administrator, or about its refusal: what changed, before and after."""
    write_row(
        administration_row(
            caller,
            "change",
            action=action,
            request=request,
            target=target,
            before=before,
            after=after,
            outcome=outcome,
        )
    )


def administration_row(
    caller: Caller,
    event: Event,
    *,
    action: str,
    request: str,
    target: str = "",
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    outcome: str = "succeeded",
) -> Item:
    """Return the row of what an administrator does: an action such as `users.update`, a target such as `users.uma`."""
    return new_row(
        organization=caller.organization,
        user=caller.user,
        roles=caller.role_names,
        client=caller.client,
        event=event,
        service=ADMINISTRATION,
        account="",
        tool=action,
        outcome=outcome,
        request=request,
        target=target,
        before=before,
        after=after,
    )


@contextmanager
def best_effort() -> Iterator[None]:
    """Append rows about what has happened already: a row that is lost is no error, but is counted for an alarm."""
    try:
        yield
    except StoreUnavailable:
        logger.error("audit row lost", extra={"metric": AUDIT_ROWS_LOST.name})  # noqa: TRY400 - the cause quotes the row
        invocation.count_now(AUDIT_ROWS_LOST)


def append_row(**columns: Any) -> None:
    """Append one row with the columns of `new_row`.

    If it cannot be written, StoreUnavailable, whatever the reason: a refusal, too, is for the operator to correct, not
    for the caller.
    """
    write_row(new_row(**columns))


def new_row(
    *,
    organization: str,
    user: str,
    roles: Iterable[str],
    event: Event,
    service: str,
    account: str,
    outcome: str,
    request: str,
    tool: str = "",
    batch: str = "",
    target: str = "",
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    client: ClientInfo = NO_CLIENT,
    measures: Mapping[str, int] | None = None,
) -> Item:
    """Return the item of a row that is written now."""
    now = datetime.now(UTC)
    changed: Item = {"target": target, "before": before, "after": after} if target else {}
    measured: Item = {"measures": measures} if measures else {}
    row: Item = {
        "user": user,
        "roles": list(roles),
        "event": event,
        "service": service,
        "account": account,
        "tool": tool,
        "outcome": outcome,
        "request": request,
        "correlation": invocation.correlation(),
        "trace": invocation.trace_id(),
        "batch": batch,
        **changed,
        **measured,
        "door": invocation.door(),
        "client_name": client.name,
        "client_version": client.version,
        "client_id": client.id,
        "expires_at": int(now.timestamp()) + settings().audit_days * SECONDS_PER_DAY,
    }
    return keyed(row, organization, _sort_key(timestamp(now)))


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
    """Return the partition in which a row with this sort key is; `name` is the organization, or what an index is by."""
    return f"{name}#{zlib.crc32(sort_key.encode()) % SHARDS}"


def partitions_of(name: str) -> tuple[str, ...]:
    """Return all partitions of an organization's rows, or of what an index is by."""
    return tuple(f"{name}#{shard}" for shard in range(SHARDS))


def is_failure(outcome: str) -> bool:
    """Whether an outcome is the code of an error."""
    return outcome.isupper()


def write_row(row: Item) -> None:
    """Write a row under a key that is new: no row can replace another one."""
    try:
        for _ in range(MAX_KEY_ATTEMPTS):
            try:
                return audit_table().put(row, condition=IS_NEW)
            except ConditionFailed:
                row = keyed(row, row["pk"].rpartition("#")[0], _sort_key(row["sk"].partition("#")[0]))
    except AwsError as error:
        raise StoreUnavailable(store="audit") from error
    raise StoreUnavailable(store="audit")


def timestamp(moment: datetime) -> str:
    """Return a time as text that sorts in the order of times."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def audit_table() -> Table:
    """Return the table of the rows."""
    return Table(settings().audit_table, "audit")
