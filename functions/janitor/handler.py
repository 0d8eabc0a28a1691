"""The door of the janitor: a schedule's event in, the names of what was removed out."""

import time
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from janitor.machines import remove, select_machines
from mcpist.aws.snapshot import prepare
from mcpist.batch.machine import machine_usage
from mcpist.errors import StoreUnavailable
from mcpist.settings import settings
from mcpist.telemetry import invocation
from mcpist.telemetry.metrics import ERRORS

MIN_REMAINING_MILLISECONDS = 5_000

logger = Logger()
prepare(services=("dynamodb", "stepfunctions"))


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:  # noqa: ARG001 - a schedule says nothing
    """Remove machines that nobody uses; what this run leaves, the next one finds."""
    with invocation.begin("janitor", logger, context.aws_request_id):
        return _remove_unused(context)


def _remove_unused(context: LambdaContext) -> dict[str, Any]:
    machines = list(machine_usage.list_machines())
    used = machine_usage.list_uses()
    now = time.time()
    existing = {machine.name for machine in machines}
    for name in (name for name, use in used.items() if use.being_removed and name not in existing):
        machine_usage.delete_use(name)
    candidates = select_machines(machines, used, stack=settings().stack, limit=settings().machine_limit, now=now)
    removed: list[str] = []
    try:
        for candidate in candidates:
            if context.get_remaining_time_in_millis() < MIN_REMAINING_MILLISECONDS:
                break
            if remove(candidate):
                removed.append(candidate.machine.name)
    except StoreUnavailable as error:  # throttled, most likely: AWS deletes only a few machines a second
        logger.warning("stopped early", extra={"problem": error.text().message})
        invocation.count(ERRORS, by=error.code)
    summary = {"machines": len(machines), "candidates": len(candidates), "removed": removed}
    logger.info("tidied", extra=summary)
    return summary
