"""Automations begin their runs in the function with the REST API, which has all that a batch needs to start."""

from mcpist.aws import functions
from mcpist.caller import Caller
from mcpist.events.interests import Interest
from mcpist.events.store import StoredEvent
from mcpist.settings import settings

REST_API_SECONDS = 28


def begin(interest: Interest, stored: StoredEvent, caller: Caller, attempt: int) -> None:  # noqa: ARG001 - a kind's
    """Let the automation of an interest begin its run for an event, which it does once however often it is asked."""
    event = stored.event
    message = {"organization": event.organization, "automation": interest.target["automation"], "event": event.id}
    functions.invoke(settings().rest_api, "REST API", message, seconds=REST_API_SECONDS, attempts=1)
