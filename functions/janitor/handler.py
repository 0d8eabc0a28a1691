"""The janitor's handler: a schedule's event in, what it published, sealed and removed out."""

from typing import TYPE_CHECKING, Any

from janitor.machines import remove_unused
from janitor.sealing import seal_audit
from mcpist.aws.clients import AwsError
from mcpist.aws.snapshot import prepare
from mcpist.errors import McpistError
from mcpist.memory import Clock, wall_clock
from mcpist.people import directory
from mcpist.telemetry import invocation
from mcpist.telemetry.door import Door

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

MIN_AGE_SECONDS = 900
"""A younger change may still be going on."""
DOOR = Door("janitor")
prepare(services=("stepfunctions",))


def finish_publications(clock: Clock = wall_clock) -> dict[str, int]:
    """Publish what each user may do where a change of an organization was interrupted; return how many there were."""
    finished = 0
    try:
        finished = directory.finish_publications(clock() - MIN_AGE_SECONDS)
    except (AwsError, McpistError) as error:  # the audit and the machines must not wait for it
        invocation.add_fields(publishing_stopped_by=error.code)
        invocation.count_error(error.code)
    invocation.add_fields(finished_publications=finished)
    return {"finished_publications": finished}


def handler(event: dict[str, Any], context: "LambdaContext") -> dict[str, Any]:  # noqa: ARG001 - a schedule sends nothing
    """Finish publications, seal audit rows, and remove unused machines; what this run leaves is for the next one."""
    return DOOR.answer(context, lambda: finish_publications() | seal_audit(context) | remove_unused(context))
