"""The schedule: what is due goes into the queue, where as many executions as there are take it."""

from typing import TYPE_CHECKING, Any

from mcpist.aws.attributes import Item
from mcpist.events import publish, store
from mcpist.memory import Clock, wall_clock
from mcpist.telemetry import invocation

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

QUEUED_SECONDS = 600
"""After it what was in the queue and is still due goes there again."""
MAX_DUE = 100
RESERVE_MILLISECONDS = 10_000


def run(context: "LambdaContext", clock: Clock = wall_clock) -> dict[str, int]:
    """Send what is due to the queue, until nothing is or the time is over; return how much."""
    count = 0
    while context.get_remaining_time_in_millis() > RESERVE_MILLISECONDS and (found := store.find_due(clock(), MAX_DUE)):
        for item in found:
            if store.postpone(item, clock() + QUEUED_SECONDS):
                publish.send(message := _message(item))
                if message.keys() == {"organization", "event"}:
                    store.not_due(item["pk"], item["sk"])
                count += 1
    invocation.add_fields(due=count)
    return {"due": count}


def _message(item: Item) -> dict[str, Any]:
    """Return the message about something due: a source, an event that is not in the queue, or a further attempt."""
    organization = item["organization"]
    if item["pk"].endswith("#sources"):
        return {"organization": organization, "source": f"{organization}.{item['sk']}"}
    if "interest" in item:
        return {"organization": organization, "event": item["sk"], "interest": item["interest"]}
    return {"organization": organization, "event": item["id"]}
