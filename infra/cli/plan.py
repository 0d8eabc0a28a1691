"""`mcpist plan`: check a batch and show its machine, without any server."""

from infra.cli.document import Done
from mcpist.batch.execution.plan import plan
from mcpist.caller import Caller, Role, Subject
from mcpist.tools.permissions import Sieve
from mcpist_services import CATALOGUE, NAMES

STEP_RUNNER = "arn:aws:lambda:us-east-1:123456789012:function:step_runner:live"


def planned(commands: str) -> Done:
    """The plan as somebody has it who may use everything."""
    checked = plan(commands, Sieve(_anybody(), CATALOGUE))
    made = checked.made(STEP_RUNNER)
    return Done(metadata={**checked.as_dict(made), "machine": made.definition})


def _anybody() -> Caller:
    everything = Role("everything", modules=NAMES, allow=("*",), destructive=True)
    return Caller("local", "local", Subject("local", "local"), "admin", (everything,))
