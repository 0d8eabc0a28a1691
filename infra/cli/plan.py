"""`mcpist plan`: check a batch and show its machine, without any server."""

from infra.cli.document import CommandResult
from mcpist.batch.execution.plan import plan
from mcpist.caller import Caller, Role, Subject
from mcpist.tools.permissions import Permissions
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE

STEP_RUNNER = "arn:aws:lambda:us-east-1:123456789012:function:step_runner:live"


def plan_batch(commands: str) -> CommandResult:
    """The plan as somebody has it who may use everything."""
    checked = plan(commands, Permissions(_anybody(), CATALOGUE))
    made = checked.build_machine(STEP_RUNNER)
    return CommandResult(metadata={**checked.as_dict(made), "machine": made.definition})


def _anybody() -> Caller:
    everything = Role("everything", modules=NAMES, allow=("*",), destructive=True)
    return Caller("local", "local", Subject("local", "local"), "admin", (everything,))
