"""The usage of generated machines: when each was last used, and which are being removed.

Items, all under the pk `machines` of the ledger:
    NAME        a machine: `used_at`, its number of `states`, and `removing_at` once the janitor has chosen it
AWS ends the executions of a machine that is deleted, and does not say whether it has any. So a batch records the use of
its machine before it starts it. The janitor marks a machine before it deletes it, and only if no use was recorded since
it looked. The later of the two writes sees the earlier one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mcpist.aws.attributes import decode
from mcpist.aws.clients import client, store_errors
from mcpist.aws.table import holds, ledger_table
from mcpist.batch.ledger.items import now
from mcpist.batch.machine.definition import NAME_DIGEST_CHARACTERS, Machine
from mcpist.memory import Memory

MACHINES_PK = "machines"
STACK_TAG = "mcpist:stack"
USE_WRITE_INTERVAL_SECONDS = 86_400
USE_RETENTION_SECONDS = 90 * 86_400
MAX_RECORDED_USES = 10_000

recorded_uses: Memory[str, float] = Memory(USE_WRITE_INTERVAL_SECONDS, MAX_RECORDED_USES)


@dataclass(frozen=True, slots=True)
class MachineUse:
    """The recorded use of a machine, at most a day before its last use."""

    used_at: float | None = None
    states: int | None = None
    """The number of its states."""
    removing_at: float | None = None
    """When the janitor chose to remove it, if it did."""

    @property
    def being_removed(self) -> bool:
        """Whether the janitor has chosen to remove it."""
        return self.removing_at is not None


@dataclass(frozen=True, slots=True)
class DeployedMachine:
    """Any machine of this account."""

    name: str
    arn: str
    created_at: float


def record_use(name: str, states: int) -> bool:
    """Record that a batch is about to run on a machine, at most once a day and sandbox.

    Returns False while the machine is being removed: then the batch must run elsewhere.
    """
    used_at = now()
    if recorded_uses.get(name):
        return True
    use = {"used_at": used_at, "states": states, "expires_at": int(used_at) + USE_RETENTION_SECONDS}
    item = ledger_table().set(MACHINES_PK, name, use)
    if "removing_at" in item:
        return False
    recorded_uses.put(name, used_at)
    return True


def list_uses() -> dict[str, MachineUse]:
    """Return the recorded use of each machine by its name."""
    return {item["sk"]: decode(MachineUse, item) for item in ledger_table().query(MACHINES_PK)}


def mark_removing(name: str, seen: MachineUse | None) -> bool:
    """Mark a machine as being removed; return False if a batch has used it since its use was `seen`."""
    before, marked_at = seen.used_at if seen else None, now()
    return holds(
        ledger_table().set,
        MACHINES_PK,
        name,
        {"removing_at": marked_at, "expires_at": int(marked_at) + USE_RETENTION_SECONDS},
        values={} if before is None else {":before": before},
        condition="attribute_not_exists(#used_at)" if before is None else "#used_at = :before",
    )


def delete_use(name: str) -> None:
    """Delete the record of a machine that was removed; the next batch of its shape creates the machine again."""
    ledger_table().delete(MACHINES_PK, name)


def list_machines() -> Iterator[DeployedMachine]:
    """Yield all machines of the account."""
    with store_errors("Step Functions"):
        pages = client("stepfunctions").get_paginator("list_state_machines").paginate(maxResults=1000)
        for machine in pages.search("stateMachines"):
            yield DeployedMachine(machine["name"], machine["stateMachineArn"], machine["creationDate"].timestamp())


def is_generated(name: str, stack: str) -> bool:
    """Return whether a name is that of a machine which a stack generates."""
    prefix = Machine({}, 0).name(stack, "")[:-NAME_DIGEST_CHARACTERS]
    return bool(re.fullmatch(re.escape(prefix) + f"[0-9a-f]{{{NAME_DIGEST_CHARACTERS}}}", name))
