"""The door of the janitor: a schedule's event in, the names of what was removed out."""

import time
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from janitor.machines import chosen, remove
from mcpist.aws.snapshot import prepare
from mcpist.batch.machine import uses
from mcpist.errors import StoreUnavailable
from mcpist.settings import settings
from mcpist.telemetry import invocation
from mcpist.telemetry.metrics import ERRORS

ENOUGH_MILLISECONDS = 5_000

logger = Logger()
prepare(services=("dynamodb", "stepfunctions"))


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:  # noqa: ARG001 - a schedule says nothing
    """Remove machines that nobody uses; what this run leaves, the next one finds."""
    with invocation.opened("janitor", logger, context.aws_request_id):
        return _tidy(context)


def _tidy(context: LambdaContext) -> dict[str, Any]:
    machines = list(uses.standing())
    used = uses.uses()
    now = time.time()
    there = {machine.name for machine in machines}
    for name in (name for name, use in used.items() if use.leaving and name not in there):
        uses.gone(name)
    candidates = chosen(machines, used, stack=settings().stack, limit=settings().machine_limit, now=now)
    removed: list[str] = []
    try:
        for candidate in candidates:
            if context.get_remaining_time_in_millis() < ENOUGH_MILLISECONDS:
                break
            if remove(candidate):
                removed.append(candidate.machine.name)
    except StoreUnavailable as error:  # throttled, most likely: AWS deletes only a few machines a second
        logger.warning("stopped early", extra={"problem": error.text().message})
        invocation.count(ERRORS, by=error.code)
    facts = {"machines": len(machines), "candidates": len(candidates), "removed": removed}
    logger.info("tidied", extra=facts)
    return facts
