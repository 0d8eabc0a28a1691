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
from mcpist.batch.execution.settling import Entrance, StepBusy, enter
from mcpist.batch.ledger import ledger
from mcpist.telemetry import invocation
from mcpist_services import NAMES, upstream_rooms
from step_runner import continuation
from step_runner.log import Line, logger
from step_runner.step import StepWork

prepare(
    services=("dynamodb", "lambda", "s3", "stepfunctions"),
    modules=("mcpist.running.send", *(f"mcpist_services.{name}.tools" for name in NAMES), *upstream_rooms()),
)


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Settle one step, or bring one element to its end, and name the steps that this opened."""
    with invocation.opened("step_runner", logger, context.aws_request_id):
        entrance = _entrance(event, context)
        line = Line(entrance, event)
        try:
            answer = _answer(entrance, event, line)
        except StepBusy:
            line.give_way()
            raise
        except Exception as error:
            line.fail(error)
            raise
        line.leave(list(answer["go"]))
        return answer


def _answer(entrance: Entrance, event: dict[str, Any], line: Line) -> dict[str, Any]:
    """What the machine is told; on the relay nothing, since what was opened has been started."""
    answer: dict[str, Any] = {"batch": entrance.pk, "go": {}}
    relayed = event.get("relay", False)
    if entrance.step < 0:
        head = ledger.header(entrance.pk)
        line.enter(head)
        continuation.begin(head, event["machine"])
        return answer
    entered = enter(entrance, StepWork(entrance, line.enter))
    if entered.late:
        continuation.continue_(entrance, entered.head, event["machine"], relayed=relayed)
        return answer
    if entered.each is not None:
        return {**answer, "each": list(entered.each)}
    if entrance.element is not None:
        return answer
    if relayed:
        continuation.relay(entrance, entered, event["machine"])
        return answer
    return {**answer, "go": {f"s{step}": True for step in entered.head.go(entrance.step)}}


def _entrance(event: dict[str, Any], context: LambdaContext) -> Entrance:
    return Entrance(
        pk=event["batch"],
        step=event["step"],
        execution=event["execution"],
        retry=event.get("retry", 0),
        request=context.aws_request_id,
        remaining=context.get_remaining_time_in_millis() / 1000,
        age=_age(event.get("started", "")),
        lost=event.get("lost", False),
        element=event.get("element"),
        gather=event.get("gather", False),
    )


def _age(started: str) -> float:
    """The seconds since the execution began; a machine of an older release does not say when."""
    return time.time() - datetime.fromisoformat(started).timestamp() if started else 0
