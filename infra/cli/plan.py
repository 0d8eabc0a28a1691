"""`mcpist plan`: check a batch and show its machine, without any server."""

from dataclasses import replace

from infra.cli.document import CommandResult
from infra.cli.inputs import text_of
from infra.cli.options import BatchFile
from infra.cli.plan_view import draw_plan
from mcpist.batch.execution.plan import plan
from mcpist.caller import Caller, Role, Subject
from mcpist.tools.access.permissions import Permissions
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE

STEP_RUNNER = "arn:aws:lambda:us-east-1:123456789012:function:step_runner:live"


def plan_file(file: BatchFile = "-") -> CommandResult:
    """Check a batch and show its machine, without a server."""
    planned = plan_batch(text_of(file))
    return replace(planned, drawing=draw_plan(planned.metadata))


def plan_batch(commands: str) -> CommandResult:
    """Plan a batch for a caller who may use every tool."""
    everything = Role("everything", modules=NAMES, allow=("*",), destructive=True)
    caller = Caller("local", "local", Subject("local", "local"), "admin", (everything,))
    checked = plan(commands, Permissions(caller, CATALOGUE))
    machine = checked.build_machine(STEP_RUNNER)
    return CommandResult(metadata={**checked.as_dict(machine), "machine": machine.definition})
