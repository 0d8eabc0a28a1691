"""The door of the step runner: `{batch, step, retry, execution, lost?}` in, `{batch, go}` out."""

from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from mcpist.batch.settling import Entrance, StepBusy, enter
from mcpist.snapshot import prepare
from mcpist_modules import NAMES
from step_runner.step import work

logger = Logger()
prepare(
    services=("dynamodb", "lambda", "s3"),
    modules=("mcpist.running.send", *(f"mcpist_modules.{name}" for name in NAMES)),
)


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Settle one step and name the steps that this opened."""
    entrance = Entrance(
        pk=event["batch"],
        step=event["step"],
        execution=event["execution"],
        retry=event.get("retry", 0),
        request=context.aws_request_id,
        remaining=context.get_remaining_time_in_millis() / 1000,
        lost=event.get("lost", False),
    )
    fields = {"batch": entrance.pk, "step": entrance.step, "request": entrance.request}
    logger.info("step entered", extra={**fields, "retry": entrance.retry, "lost": entrance.lost})
    try:
        head = enter(entrance, lambda head, entry: work(head, entry, entrance))
    except StepBusy:
        logger.info("step busy", extra=fields)
        raise
    opened = head.go(entrance.step)
    logger.info("step settled", extra={**fields, "outcome": head.outcome.get(entrance.step), "opened": opened})
    return {"batch": entrance.pk, "go": {f"s{step}": True for step in opened}}
