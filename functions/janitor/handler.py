"""The janitor's handler: a schedule's event in, the names of the removed machines out."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from janitor.machines import remove_unused
from mcpist.aws.snapshot import prepare
from mcpist.telemetry.door import Door

DOOR = Door("janitor")
prepare(services=("dynamodb", "stepfunctions"))


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:  # noqa: ARG001 - a schedule sends nothing
    """Remove unused machines; those that this run leaves are removed by the next one."""
    return DOOR.answer(context, lambda: remove_unused(context))
