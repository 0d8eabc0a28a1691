"""`mcpist machine list`: the generated state machines of a stack and their last use."""

from datetime import UTC, datetime
from typing import Any

from infra.cli.document import CommandResult
from infra.cli.options import Target, command_group
from infra.cli.table import render_table
from infra.cli.target import opened
from mcpist.batch.machine import machine_usage
from mcpist.batch.machine.machine_usage import DeployedMachine, MachineUse
from mcpist.settings import settings

machine = command_group("Show the state machines that batches run on.")


@machine.command("list")
def list_machines(target: Target) -> CommandResult:
    """List the generated machines of a stack, the last used first."""
    with opened(target):
        name = settings().stack_name
        used = machine_usage.list_uses()
        all_of_account = list(machine_usage.list_machines())
    ours = [machine for machine in all_of_account if machine_usage.is_generated(machine.name, name)]
    machines = [_shown(machine, used.get(machine.name)) for machine in ours]
    machines.sort(key=lambda machine: str(machine["last_used"] or machine["created"]), reverse=True)
    facts = {"stack": name, "machines": machines, "in_account": len(all_of_account)}
    rows = [
        (
            machine["name"] + (" (leaving)" if machine["leaving"] else ""),
            machine["created"],
            machine["last_used"] or "not recorded",
            str(machine["states"] or ""),
        )
        for machine in machines
    ]
    table = render_table(("name", "created", "last used", "states"), rows)
    counts = f"{len(machines)} machines of the stack {name}, {len(all_of_account)} in the account"
    return CommandResult(metadata=facts, drawing=f"{table}\n{counts}")


def _shown(machine: DeployedMachine, use: MachineUse | None) -> dict[str, Any]:
    """Return a machine for programs; `last_used` may be a day old."""
    return {
        "name": machine.name,
        "created": _moment(machine.created_at),
        "last_used": _moment(use.used_at) if use and use.used_at else None,
        "states": use.states if use else None,
        "leaving": bool(use and use.being_removed),
    }


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
