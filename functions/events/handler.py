"""The handler of events: a vendor's request, messages of the queue, or the schedule's event in."""

from typing import TYPE_CHECKING, Any

from events import consumer, hooks
from mcpist.aws.snapshot import prepare
from mcpist.http.front import serve
from mcpist.http.request import HttpRequest
from mcpist.telemetry.door import Door

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

DOOR = Door("events", answers_in_time=True)
prepare(services=("lambda", "sqs"), modules=("mcpist.running.send",))


def handler(event: dict[str, Any], context: "LambdaContext") -> dict[str, Any]:
    """Answer a vendor's request, deal with messages, or send what is due to the queue."""
    if "Records" in event:
        return DOOR.answer(context, lambda: consumer.consume(event["Records"]), messages=len(event["Records"]))
    if "requestContext" not in event:
        return DOOR.answer(context, lambda: consumer.send_due(context))
    request = HttpRequest(event)
    return serve(DOOR, request, context, lambda _: hooks.receive(request), hooks.refuse, path="/hooks/{source}")
