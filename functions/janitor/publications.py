"""Publish what interrupted changes of organizations have left: what each user may do."""

from mcpist.aws.clients import AwsError
from mcpist.errors import McpistError
from mcpist.memory import Clock, wall_clock
from mcpist.people import directory
from mcpist.telemetry import invocation

MIN_AGE_SECONDS = 900
"""A younger change may still be going on."""


def finish_publications(clock: Clock = wall_clock) -> dict[str, int]:
    """Finish interrupted publications, and return how many there were."""
    finished = 0
    try:
        finished = directory.finish_publications(clock() - MIN_AGE_SECONDS)
    except (AwsError, McpistError) as error:  # the audit and the machines must not wait for it
        invocation.add_fields(publishing_stopped_by=error.code)
        invocation.count_error(error.code)
    invocation.add_fields(finished_publications=finished)
    return {"finished_publications": finished}
