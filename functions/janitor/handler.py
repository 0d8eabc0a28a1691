"""The janitor's handler: a schedule's event in, what it published, sealed and removed out."""

from typing import TYPE_CHECKING, Any

from janitor.machines import remove_unused
from janitor.publications import finish_publications
from janitor.sealing import seal_audit
from mcpist.aws.snapshot import prepare
from mcpist.telemetry.door import Door

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

DOOR = Door("janitor")
prepare(services=("stepfunctions",))


def handler(event: dict[str, Any], context: "LambdaContext") -> dict[str, Any]:  # noqa: ARG001 - a schedule sends nothing
    """Finish publications, seal audit rows, and remove unused machines; what this run leaves is for the next one."""
    return DOOR.answer(context, lambda: finish_publications() | seal_audit(context) | remove_unused(context))
