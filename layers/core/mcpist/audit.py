"""The audit table: one row per use, appended and never changed; no argument, result or secret is in it.

Items: `pk` ORGANIZATION#DAY, `sk` TIME#ID; the indexes `by_user` and `by_service` sort the same rows by time.
"""

import secrets
from datetime import UTC, datetime
from typing import Any

from mcpist.caller import Caller
from mcpist.errors import StoreUnavailable
from mcpist.settings import settings
from mcpist.stores import Table

KEEP_DAYS = 400
SECONDS_A_DAY = 86_400


def record(
    caller: Caller, *, module: str, tool: str, outcome: str, request: str, account: str = "", batch: str = ""
) -> None:
    """Append one row: who, in which roles, which tool, by which account, and how it ended.

    StoreUnavailable whatever the reason that it was not written: a refusal too is the operator's, not the caller's.
    """
    from botocore.exceptions import ClientError

    now = datetime.now(UTC)
    moment = now.isoformat(timespec="milliseconds")
    row: dict[str, Any] = {
        "pk": f"{caller.organization}#{now:%Y-%m-%d}",
        "sk": f"{moment}#{secrets.token_hex(4)}",
        "user_key": f"{caller.organization}#{caller.user}",
        "service_key": f"{caller.organization}#{module}",
        "user": caller.user,
        "roles": list(caller.role_names),
        "service": module,
        "account": account,
        "tool": f"{module}.{tool}",
        "outcome": outcome,
        "request": request,
        "batch": batch,
        "expires_at": int(now.timestamp()) + KEEP_DAYS * SECONDS_A_DAY,
    }
    try:
        Table(settings().audit_table, "audit").put(row)
    except ClientError as error:
        raise StoreUnavailable(store="audit") from error
