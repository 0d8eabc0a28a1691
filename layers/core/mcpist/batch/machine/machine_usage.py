"""Uses: when each generated machine was last wanted, and which are being removed.

Items, all under the pk `machines` of the ledger:
    NAME        a machine: `used_at`, its number of `states`, and `leaving` once the janitor has chosen to remove it
AWS ends the executions of a machine that is deleted, and nobody can see from outside whether it has any. So a batch
notes its machine before it starts it; the janitor marks it as leaving before it deletes it, and only if no note came
since it looked. Whichever of the two writes comes second sees the first.
"""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass

from mcpist.aws.attributes import Item
from mcpist.aws.clients import ConditionFailed, client, store_errors
from mcpist.batch.ledger.items import table
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
    """What is known of a machine's use; a note may be a day old."""

    used_at: float | None
    states: int | None
    being_removed: bool


@dataclass(frozen=True, slots=True)
class DeployedMachine:
    """A machine of this account, whoever made it."""

    name: str
    arn: str
    created_at: float


def record_use(name: str, states: int) -> bool:
    """Note that a batch is about to run on a machine, at most once a day and sandbox.

    False while it is being removed: then the batch must run elsewhere.
    """
    now = time.time()
    if recorded_uses.get(name):
        return True
    item = table().update(
        MACHINES_PK,
        name,
        "SET #used_at = :now, #states = :states, #expires_at = :later",
        values={":now": int(now * 1000), ":states": states, ":later": int(now) + USE_RETENTION_SECONDS},
    )
    if "leaving" in item:
        return False
    recorded_uses.put(name, now)
    return True


def list_uses() -> dict[str, MachineUse]:
    """What is known of each machine's use, by its name."""
    return {item["sk"]: _read(item) for item in table().query(MACHINES_PK)}


def mark_removing(name: str, seen: MachineUse | None) -> bool:
    """Mark a machine as leaving; False if a batch has wanted it since its use was seen."""
    before = seen.used_at if seen else None
    try:
        table().update(
            MACHINES_PK,
            name,
            "SET #leaving = :now, #expires_at = :later",
            values={":now": int(time.time() * 1000), ":later": int(time.time()) + USE_RETENTION_SECONDS}
            | ({} if before is None else {":before": round(before * 1000)}),
            condition="attribute_not_exists(#used_at)" if before is None else "#used_at = :before",
        )
    except ConditionFailed:
        return False
    return True


def delete_use(name: str) -> None:
    """Forget a machine that has been removed: the next batch of its shape makes it anew."""
    table().delete(MACHINES_PK, name)


def list_machines() -> Iterator[DeployedMachine]:
    """All machines of the account."""
    page: dict[str, str] = {}
    while True:
        with store_errors("Step Functions"):
            answer = client("stepfunctions").list_state_machines(maxResults=1000, **page)
        for found in answer["stateMachines"]:
            yield DeployedMachine(found["name"], found["stateMachineArn"], found["creationDate"].timestamp())
        if "nextToken" not in answer:
            return
        page = {"nextToken": answer["nextToken"]}


def is_generated(name: str, stack: str) -> bool:
    """Whether a name is one that a stack gives to the machines that it generates."""
    prefix = Machine({}, 0).name(stack, "")[:-NAME_DIGEST_CHARACTERS]
    return bool(re.fullmatch(re.escape(prefix) + f"[0-9a-f]{{{NAME_DIGEST_CHARACTERS}}}", name))


def _read(item: Item) -> MachineUse:
    used_at = item.get("used_at")
    return MachineUse(None if used_at is None else used_at / 1000, item.get("states"), "leaving" in item)
