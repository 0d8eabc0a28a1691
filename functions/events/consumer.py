"""The queue: by the schedule what is due goes in, and each interest in an event deals with it exactly once.

As many executions as there are take it from there. A message that fails is received again, five times in all, and then
kept among the dead letters.
"""

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from events import callbacks
from events.tending import tend
from mcpist.aws import functions
from mcpist.aws.attributes import Item
from mcpist.caller import Caller
from mcpist.errors import DayLimitReached, InternalError, McpistError, PolicyRefused
from mcpist.events import interests, publish, store
from mcpist.events.event_type import EventType
from mcpist.events.interests import AttemptRunning, Interest
from mcpist.events.store import StoredEvent
from mcpist.memory import Clock, wall_clock
from mcpist.people import directory
from mcpist.settings import settings
from mcpist.telemetry import invocation
from mcpist.tools.access.permissions import Permissions
from mcpist_services.catalogue import CATALOGUE
from mcpist_services.events import is_permitted, judge_listening, type_in

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

QUEUED_SECONDS = 600
"""After it what was in the queue and is still due goes there again."""
MAX_DUE = 100
RESERVE_MILLISECONDS = 10_000
REST_API_SECONDS = 28

type Deliver = Callable[[Interest, StoredEvent, Caller, int], float | None]
"""Deals with an event for an interest: from these, its person as a caller, and the number of the attempt.

It returns None once the event is dealt with, or the seconds after which to try again. What it does must be the same
however often it is called for one event and interest: a function may be killed after it has done so.
"""


def _begin(interest: Interest, stored: StoredEvent, caller: Caller, attempt: int) -> None:  # noqa: ARG001 - a kind's
    """Let the automation of an interest begin its run for an event, which it does once however often it is asked.

    That happens in the function with the REST API, which has all that a batch needs to start.
    """
    event = stored.event
    message = {"organization": event.organization, "automation": interest.target["automation"], "event": event.id}
    functions.invoke(settings().rest_api, "REST API", message, seconds=REST_API_SECONDS, attempts=1)


KINDS: dict[str, Deliver] = {"automation": _begin, "callback": callbacks.deliver}
"""The function of each kind of interest."""

type End = Callable[[Interest, StoredEvent, int], float | None]
ENDINGS: dict[str, End] = {"callback": callbacks.end}
"""For kinds that tell somebody of it: what to do with an event that the person of an interest may not hear of."""


def send_due(context: "LambdaContext", clock: Clock = wall_clock) -> dict[str, int]:
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


def consume(records: list[Mapping[str, Any]], clock: Clock = wall_clock) -> dict[str, Any]:
    """Deal with messages of the queue, and return those that are to be received again."""
    failed = []
    for record in records:
        try:
            deal_with(json.loads(record["body"]), clock)
        except Exception as error:  # noqa: BLE001 - the message comes again, and then stays among the dead letters
            if not isinstance(error, (AttemptRunning, McpistError)):
                invocation.log_exception()
            invocation.count_error(error.code if isinstance(error, McpistError) else InternalError.code)
            failed.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failed}


def deal_with(message: Mapping[str, Any], clock: Clock = wall_clock) -> None:
    """Deal with one message: a source that is due, an event, or an event for one interest again."""
    if "source" in message:
        tend(message["source"])
        return
    stored = store.get(message["organization"], message["event"])
    if stored is None:  # a week has passed
        return
    event_type = type_in(stored.event.organization, stored.event.type)
    if event_type is None:
        return
    found = _interests(message, stored, event_type)
    if len(found) > 1:  # of which none waits for another that is slow or fails
        for one in found:
            publish.send({**message, "interest": one.id})
    elif found:
        _deliver(found[0], stored, event_type, clock)


def _interests(message: Mapping[str, Any], stored: StoredEvent, event_type: EventType) -> list[Interest]:
    """Return the interests that hear of an event: those of its person in its type, with such arguments."""
    event = stored.event
    found = interests.of(event.organization, event.type)
    wanted = message.get("interest")
    return [
        one
        for one in found
        if one.user == event.user and event_type.matches(one.arguments, event) and wanted in {None, one.id}
    ]


def _deliver(interest: Interest, stored: StoredEvent, event_type: EventType, clock: Clock) -> None:
    """Let an interest deal with an event, unless it has or its person may not hear of it any more."""
    caller = _person(interest, event_type)
    if caller is None and interest.kind not in ENDINGS:
        return
    attempt = interests.claim(interest, stored.event, clock())
    if attempt is None:
        return
    try:
        if caller is None:
            seconds = ENDINGS[interest.kind](interest, stored, attempt.number)
        elif _is_refused(interest, event_type, caller):  # only this event: policies may depend on the time
            seconds = None
        else:
            seconds = KINDS[interest.kind](interest, stored, caller, attempt.number)
    except DayLimitReached as reached:
        seconds = float(reached.details["retry_after"])
    except McpistError:
        interests.give_up(attempt)
        raise
    if seconds is None:
        interests.settle(attempt)
    else:
        interests.again(attempt, clock() + seconds)


def _is_refused(interest: Interest, event_type: EventType, caller: Caller) -> bool:
    """Whether policies do not let a person hear of an event now; an audit row says so."""
    try:
        judge_listening(Permissions(caller, CATALOGUE), event_type, interest.arguments)
    except PolicyRefused:
        return True
    return False


def _person(interest: Interest, event_type: EventType) -> Caller | None:
    """Return the person of an interest as the directory knows it now; None if it may not hear of the type."""
    user = directory.read(interest.organization).users.get(interest.user)
    if user is None:
        return None
    try:
        roles = (interest.role,) if interest.role else ()
        caller = directory.identify(user.subject, organization=interest.organization, roles=roles)
    except McpistError:
        return None
    return caller if is_permitted(Permissions(caller, CATALOGUE), event_type) else None
