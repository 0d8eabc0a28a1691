"""The step runner's handler: `{batch, step, retry, execution, ...}` in, `{batch, go}` out.

Optional fields of the event: `lost` for a step whose attempts all failed, `element` for one element of a step with
`each`, `gather` for the step after its elements, `relay` on the fixed machine, where `step` -1 is the start of a batch.
The response names in `each` the elements that must run first. Quick reads in a row are settled by one invocation, each
with log lines of its own; the machine then enters them one by one, and finds them settled.
"""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from mcpist.aws.snapshot import prepare
from mcpist.batch.execution.attempts import StepBusy, StepWaits
from mcpist.telemetry.door import Door
from mcpist_services import NAMES
from mcpist_services.catalogue import preloads
from step_runner.attempt import Attempted, run_attempt

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

LOGGED_FIELDS = ("batch", "step", "element", "gather", "retry", "lost")
# A step that begins so late in an invocation still has twice the longest `timeout` of a line.
MAX_AHEAD_SECONDS = 5

# The message of an exception may quote arguments or results; StepBusy and StepWaits make Step Functions retry.
DOOR = Door("step_runner", logs_messages=False, retried=(StepBusy, StepWaits))
prepare(
    services=("lambda", "s3", "stepfunctions"),
    modules=("mcpist.running.send", *(f"mcpist_services.{name}.tools" for name in NAMES), *preloads()),
)


def handler(event: dict[str, Any], context: "LambdaContext") -> dict[str, Any]:
    """Settle one step, or run one of its elements, and name the steps that this opened."""
    until = context.get_remaining_time_in_millis() - MAX_AHEAD_SECONDS * 1000
    first = latest = _attempt(event, context)
    with suppress(StepBusy, StepWaits):
        while latest.ahead and context.get_remaining_time_in_millis() > until:
            latest = _attempt(latest.ahead, context)
    return first.response


def _attempt(event: dict[str, Any], context: "LambdaContext") -> Attempted:
    logged = {name: event[name] for name in LOGGED_FIELDS if name in event}
    attempted: Attempted = DOOR.answer(context, lambda: run_attempt(event, context), correlation=None, **logged)
    return attempted
