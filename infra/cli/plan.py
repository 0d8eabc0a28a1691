"""`mcpist plan`: check a batch and show its machine, without any server."""

from infra.cli.document import Done
from mcpist.batch.machine import machine
from mcpist.batch.plan import plan
from mcpist.caller import Caller, Role, Subject
from mcpist.sieve import Sieve
from mcpist.tools.catalogue import Catalogue
from mcpist_modules import NAMES

STEP_RUNNER = "arn:aws:lambda:us-east-1:123456789012:function:step_runner:live"


def planned(commands: str) -> Done:
    """The plan as somebody has it who may use everything."""
    checked = plan(commands, Sieve(_anybody(), Catalogue("mcpist_modules", NAMES)))
    made = machine(checked.graph, STEP_RUNNER)
    metadata = {
        "steps": checked.as_dict(),
        "machine": made.definition,
        "states": made.states,
        "depth": checked.graph.depth,
        "exact": True,
    }
    return Done(metadata=metadata)


def _anybody() -> Caller:
    everything = Role("everything", modules=NAMES, allow=("*",), destructive=True)
    return Caller("local", "local", Subject("local", "local"), "admin", (everything,))
