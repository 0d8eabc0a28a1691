"""The audit table: one row per use, connection, refresh, failure and revocation, appended and never changed.

No argument, result or secret is in it. Items: `pk` ORGANIZATION#DAY, `sk` TIME#ID; the indexes `by_user` and
`by_service` sort the same rows by time.
"""

import logging
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Literal

from mcpist.aws.attributes import Item
from mcpist.aws.clients import AwsError
from mcpist.aws.table import Table
from mcpist.caller import Caller
from mcpist.errors import InvalidRequest, StoreUnavailable
from mcpist.settings import settings
from mcpist.telemetry.invocation import count_now
from mcpist.telemetry.metrics import AUDIT_ROWS_LOST

SECONDS_PER_DAY = 86_400
MAX_ROWS = 1_000
ROW_FIELDS = ("user", "roles", "event", "service", "account", "tool", "outcome", "request", "batch")

logger = logging.getLogger(__name__)

type Event = Literal["use", "connect", "refresh", "failure", "revoke", "kill"]


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows, the newest first; `cursor` is where the next page begins, empty on the last page."""

    rows: list[dict[str, Any]]
    cursor: str = ""


def record_use(
    caller: Caller, *, module: str, tool: str, outcome: str, request: str, account: str = "", batch: str = ""
) -> None:
    """Append a row about the use of a tool: the user and roles, the tool, the account and the outcome."""
    append_row(
        organization=caller.organization,
        user=caller.user,
        roles=caller.role_names,
        event="use",
        service=module,
        account=account,
        tool=f"{module}.{tool}",
        outcome=outcome,
        request=request,
        batch=batch,
    )


@contextmanager
def best_effort() -> Iterator[None]:
    """Append rows about what has happened already: a row that is lost is no error, but is counted for an alarm."""
    try:
        yield
    except StoreUnavailable:
        logger.error("audit row lost", extra={"metric": AUDIT_ROWS_LOST.name})  # noqa: TRY400 - the cause quotes the row
        count_now(AUDIT_ROWS_LOST)


def append_row(
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
) -> None:
    """Append one row.

    If it cannot be written, StoreUnavailable, whatever the reason: a refusal, too, is for the operator to correct, not
    for the caller.
    """
    now = datetime.now(UTC)
    row: Item = {
        "pk": f"{organization}#{now:%Y-%m-%d}",
        "sk": f"{_timestamp(now)}#{secrets.token_hex(4)}",
        "user_key": f"{organization}#{user}",
        "service_key": f"{organization}#{service}",
        "user": user,
        "roles": list(roles),
        "event": event,
        "service": service,
        "account": account,
        "tool": tool,
        "outcome": outcome,
        "request": request,
        "batch": batch,
        "expires_at": int(now.timestamp()) + settings().audit_days * SECONDS_PER_DAY,
    }
    try:
        _table().put(row)
    except AwsError as error:
        raise StoreUnavailable(store="audit") from error


def find(
    organization: str,
    *,
    since: datetime,
    until: datetime,
    user: str = "",
    service: str = "",
    limit: int = 100,
    cursor: str = "",
) -> Page:
    """Return an organization's rows between two times, only those of a user or a service if given, the newest first."""
    if not 0 < limit <= MAX_ROWS:
        raise InvalidRequest(field="limit", problem=f"it is at least 1 and at most {MAX_ROWS}")
    first, last = _timestamp(since), cursor or _timestamp(until)
    items = list(islice(_query_rows(organization, user, service, (first, last), limit + 1), limit + 1))
    rows = [
        {"time": item["sk"].partition("#")[0], **{name: item.get(name, "") for name in ROW_FIELDS}}
        for item in items[:limit]
    ]
    return Page(rows, items[limit]["sk"] if len(items) > limit else "")


def _query_rows(organization: str, user: str, service: str, times: tuple[str, str], page: int) -> Iterator[Item]:
    if user:
        filters = {"service": service} if service else {}
        yield from _table().query_descending("user_key", f"{organization}#{user}", times, "by_user", filters, page=page)
    elif service:
        yield from _table().query_descending("service_key", f"{organization}#{service}", times, "by_service", page=page)
    else:
        for day in _days(*times):
            yield from _table().query_descending("pk", f"{organization}#{day}", times, page=page)


def _days(first: str, last: str) -> Iterator[str]:
    """Iterate over the days from the last to the first."""
    try:
        day, end = (datetime.fromisoformat(moment[:10]).date() for moment in (last, first))
    except ValueError:
        raise InvalidRequest(field="cursor", problem="it was not returned by this audit") from None
    while day >= end:
        yield day.isoformat()
        day -= timedelta(days=1)


def _timestamp(moment: datetime) -> str:
    """Return a time as text that sorts in the order of times."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def _table() -> Table:
    return Table(settings().audit_table, "audit")
