"""Publication: an event is stored once, and its key sent to the queue."""

import json
from collections.abc import Mapping
from typing import Any

from mcpist.aws.clients import client, store_errors
from mcpist.events import interests, store
from mcpist.events.event import Event
from mcpist.memory import wall_clock
from mcpist.settings import settings


def publish(event: Event) -> bool:
    """Store an event and send its key to the queue; False, without doing anything, if it was stored before."""
    stored = store.put(event, wall_clock())
    if stored is None:
        return False
    send({"organization": event.organization, "event": event.id})
    store.sent(stored)
    return True


def publish_own(event: Event) -> None:
    """Publish an event of ours where anybody asked for its type; this costs no request where that is known."""
    if settings().events_table and interests.is_wanted(event.organization, event.type):
        publish(event)


def send(message: Mapping[str, Any]) -> None:
    """Send a message to the queue: `{organization, event}`, with the id of one `interest` if it is for that alone."""
    # The queue is fair between groups: a burst of one organization keeps no other one's messages waiting.
    with store_errors("queue"):
        client("sqs").send_message(
            QueueUrl=settings().event_queue, MessageBody=json.dumps(message), MessageGroupId=message["organization"]
        )
