"""Our own events: a file that was stored, a batch that ended, an automation that failed, a saved batch that broke.

They are published only where somebody asked for them, and never fail the work that they tell of.
"""

from collections.abc import Mapping
from typing import Any

from mcpist.aws.clients import AwsError
from mcpist.errors import StoreUnavailable
from mcpist.events.event import Event, event_id
from mcpist.files import records
from mcpist.files.records import FileRecord
from mcpist.memory import wall_clock
from mcpist.telemetry import invocation


def file_stored(file: FileRecord) -> None:
    """Tell of a file; storing the same content again later is another event."""
    data = {name: getattr(file, name) for name in ("path", "sha256", "size_bytes", "content_type", "created_at")}
    _publish(file.organization, file.user, "files.stored", f"{file.sha256} {file.created_at}", data)


def batch_finished(organization: str, user: str, batch: str, statuses: Mapping[str, str], depth: int = 0) -> None:
    """Tell of a batch with the statuses of its steps by their ids; `depth` is how many automations led to it."""
    failed = [id_ for id_, status in statuses.items() if status not in {"succeeded", "skipped"}]
    data: dict[str, Any] = {
        "batch": batch,
        "outcome": "failed" if failed else "succeeded",
        "steps": dict(statuses),
        "failed": failed,
    }
    _publish(organization, user, "batches.finished", batch, data, depth)


def automation_failed(organization: str, user: str, automation: str, run: Mapping[str, Any], depth: int) -> None:
    """Tell the person of an automation of a run that did not succeed: its `run` id, `state`, `problem` and `batch`."""
    data = {"automation": automation, **run}
    _publish(organization, user, "automations.failed", f"{automation} {run['run']}", data, depth)


def saved_batch_checked(organization: str, owner: str, name: str, former: str, problem: str) -> None:
    """Tell the owner of a saved batch that it broke by a `problem`, or works again; `former` names its last check."""
    data = {"name": name, "state": "broken" if problem else "working", "problem": problem}
    _publish(organization, owner, "saved.checked", f"{name} {former}", data, caused=False)


def _publish(
    organization: str,
    user: str,
    type_: str,
    delivery: str,
    data: Mapping[str, Any],
    depth: int = 0,
    *,
    caused: bool = True,
) -> None:
    """Publish an event of a person; automations of this person run on what it `caused` only if they ask for that."""
    event = Event(
        id=event_id(f"{user} {type_}", delivery),
        organization=organization,
        user=user,
        type=type_,
        occurred_at=int(wall_clock()),
        data=dict(data),
        actor=user if caused else None,
        depth=depth,
    )
    from mcpist.events.publish import publish_own  # a page of the console tells of few files

    try:
        publish_own(event)
    except (AwsError, StoreUnavailable) as error:
        invocation.count_error(error.code)


records.observers.append(file_stored)
