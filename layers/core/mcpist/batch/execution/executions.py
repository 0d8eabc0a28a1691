"""Start executions of machines: for a new batch, for the next steps on the relay, and to continue a batch.

The names of Express executions are not unique, so two requests start two executions of one name. Both are harmless,
since every step settles once, but each would start a continuation of its own. So a lease allows one sandbox at a time
to start a continuation.
"""

import json
import re
from contextlib import suppress
from typing import Any, Literal

from mcpist.aws.clients import ResourceExists, ResourceMissing, client, store_errors
from mcpist.aws.table import holds, ledger_table
from mcpist.batch.ledger.items import now
from mcpist.batch.ledger.records import Header

START_LEASE_SECONDS = 10


def start_execution(machine: str, name: str, payload: dict[str, Any]) -> bool:
    """Start an execution; return False where the machine does not exist, or not yet."""
    try:
        with suppress(ResourceExists), store_errors("Step Functions"):
            client("stepfunctions").start_execution(stateMachineArn=machine, name=name, input=json.dumps(payload))
    except ResourceMissing:
        return False
    return True


def next_execution_name(execution: str) -> str:
    """Return the name of the execution that continues another, given by name or ARN: `b_1`, `b_1-r1`, `b_1-r2`."""
    parts = execution.split(":")
    name = parts[7] if len(parts) > 7 else parts[-1]
    continued = re.fullmatch(r"(.+)-r(\d+)", name)
    return f"{continued[1]}-r{int(continued[2]) + 1}" if continued else f"{name}-r1"


def acquire_start(head: Header, name: str, owner: str) -> Literal["mine", "taken", "started"]:
    """Acquire the lease to start a further execution of the batch, for START_LEASE_SECONDS."""
    requested_at = now()
    place = head.pk, _execution_key(name)
    is_mine = holds(
        ledger_table().set,
        *place,
        {"owner": owner, "until": requested_at + START_LEASE_SECONDS, "expires_at": int(head.expires_at)},
        values={":now": requested_at},
        condition="attribute_not_exists(#started_at) "
        "AND (attribute_not_exists(#until) OR #until < :now OR #owner = :owner)",
    )
    return "mine" if is_mine else "started" if "started_at" in (ledger_table().get(*place) or {}) else "taken"


def mark_started(head: Header, name: str) -> None:
    """Record that a further execution was started, so that no sandbox starts it again."""
    ledger_table().set(head.pk, _execution_key(name), {"started_at": now()})


def _execution_key(name: str) -> str:
    return f"execution#{name}"
