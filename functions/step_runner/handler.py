"""The door of the step runner: `{batch, step, retry, execution, ...}` in, `{batch, go}` out.

Besides: `lost` for a step whose attempts all came to nothing, `element` for one element of a step with `each`, `gather`
for what follows its elements, `relay` on the machine of one step, where `step` -1 stands for a batch's beginning.
The answer names in `each` the elements that must run first.
"""

import time
from datetime import datetime
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from mcpist.aws.snapshot import prepare
from mcpist.batch.execution.settling import StepAttempt, StepBusy, enter
from mcpist.batch.ledger import ledger
from mcpist.telemetry import invocation
from mcpist_services import NAMES
from mcpist_services.catalogue import upstream_preloads
from step_runner import continuation
from step_runner.log import StepLog, logger
from step_runner.step import ToolStepWork

prepare(
    services=("dynamodb", "lambda", "s3", "stepfunctions"),
    modules=("mcpist.running.send", *(f"mcpist_services.{name}.tools" for name in NAMES), *upstream_preloads()),
)


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Settle one step, or bring one element to its end, and name the steps that this opened."""
    with invocation.begin("step_runner", logger, context.aws_request_id):
        attempt = _parse_attempt(event, context)
        step_log = StepLog(attempt, event)
        try:
            answer = _run_attempt(attempt, event, step_log)
        except StepBusy:
            step_log.report_busy()
            raise
        except Exception as error:
            step_log.report_failed(error)
            raise
        step_log.report_left(list(answer["go"]))
        return answer


def _run_attempt(attempt: StepAttempt, event: dict[str, Any], step_log: StepLog) -> dict[str, Any]:
    """What the machine is told; on the relay nothing, since what was opened has been started."""
    answer: dict[str, Any] = {"batch": attempt.pk, "go": {}}
    relayed = event.get("relay", False)
    if attempt.step < 0:
        head = ledger.get_header(attempt.pk)
        step_log.report_entered(head)
        continuation.start_ready_steps(head, event["machine"])
        return answer
    result = enter(attempt, ToolStepWork(attempt, step_log.report_entered))
    if result.must_continue:
        continuation.continue_batch(attempt, result.head, event["machine"], relayed=relayed)
        return answer
    if result.pending_elements is not None:
        return {**answer, "each": list(result.pending_elements)}
    if attempt.element is not None:
        return answer
    if relayed:
        continuation.start_opened_steps(attempt, result, event["machine"])
        return answer
    return {**answer, "go": {f"s{step}": True for step in result.head.opened_by(attempt.step)}}


def _parse_attempt(event: dict[str, Any], context: LambdaContext) -> StepAttempt:
    return StepAttempt(
        pk=event["batch"],
        step=event["step"],
        execution=event["execution"],
        retry=event.get("retry", 0),
        request_id=context.aws_request_id,
        remaining_seconds=context.get_remaining_time_in_millis() / 1000,
        age_seconds=_age_seconds(event.get("started", "")),
        lost=event.get("lost", False),
        element=event.get("element"),
        gather=event.get("gather", False),
    )


def _age_seconds(started: str) -> float:
    """The seconds since the execution began; a machine of an older release does not say when."""
    return time.time() - datetime.fromisoformat(started).timestamp() if started else 0
