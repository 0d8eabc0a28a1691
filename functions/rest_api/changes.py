"""The routes of changes: their list, and one with the fields as they were."""

from typing import Annotated, Any

from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import Field

from mcpist.batch.execution import undo
from mcpist.running import changes
from mcpist.running.changes import MAX_LISTED
from rest_api.exchange import current, in_utc
from rest_api.router import Body, Moment, Operations

router = Operations("batches")


class ChangeSummary(Body):
    """A change that a tool has made."""

    id: str
    tool: str
    created_at: str
    expires_at: int
    batch: str
    step: str
    undoable: Annotated[bool, Field(description="Whether it can be undone, and has not been")]
    reason: Annotated[str, Field(description="Why it cannot be undone")]
    undone_by: Annotated[str, Field(description="The batch or the request that undid it, or began to")]


class ChangeList(Body):
    """Changes, the newest first."""

    changes: list[ChangeSummary]


class ChangeDetail(ChangeSummary):
    """A change with its content."""

    arguments: dict[str, Any]
    was: Annotated[dict[str, Any], Field(description="The fields that it changed, as they were")]
    became: Annotated[dict[str, Any], Field(description="The same fields as it left them")]
    calls: Annotated[list[dict[str, Any]], Field(description="The calls that undo it")]


@router.operation("GET", "/v1/changes", "List changes")
def list_changes(
    batch: Annotated[str, Query(max_length=100, description="Only those of this batch")] = "",
    since: Annotated[Moment | None, Query(description="Only those since then")] = None,
    user: Annotated[str, Query(max_length=128, description="Those of this user, for an administrator")] = "",
    limit: Annotated[int, Query(ge=1, le=MAX_LISTED)] = 50,
) -> ChangeList:
    """List the changes that were kept of one's own writes, the newest first."""
    moment = in_utc(since).timestamp() if since else 0
    found = undo.list_changes(current().caller, user=user, batch=batch, since=moment, limit=limit)
    return ChangeList(changes=[ChangeSummary(**changes.summary(current().caller, record)) for record in found])


@router.operation("GET", "/v1/changes/<id>", "Show a change")
def get_change(
    id: str,  # noqa: A002 - the path's variable
    user: Annotated[str, Query(max_length=128, description="Whose it is, for an administrator")] = "",
) -> ChangeDetail:
    """Show a change: the fields as they were and as it left them, and the calls that undo it."""
    return ChangeDetail(**changes.detail(current().caller, f"{user}/{id}" if user else id))
