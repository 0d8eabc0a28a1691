"""The routes of batches, and of the changes that their steps and calls have made."""

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import Field

from mcpist.aws.attributes import pack
from mcpist.batch.execution import submission, undo
from mcpist.batch.execution.submission import Submission
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.records import Header
from mcpist.errors import ConfirmationPending, InvalidRequest
from mcpist.running import changes
from mcpist.running.changes import MAX_LISTED
from mcpist.running.confirmation import Agreement
from rest_api.administration.changes import administration
from rest_api.batch_view import (
    JSON_TYPE,
    BatchList,
    BatchPlan,
    BatchRequest,
    BatchView,
    ResumeRequest,
    UndoRequest,
    WaitSeconds,
    batch_list,
    batch_view,
)
from rest_api.exchange import current, in_utc
from rest_api.router import Body, Moment, Operations, json_responses

MAX_CONTEXT_BYTES = 300_000
CURSOR = rf"^({ledger.CURSOR.pattern})?$"
ASKED = Agreement(can_ask=True)
RUNNING = json_responses(BatchView, _200="The batch is done", _202="The batch is running")
STARTED = RUNNING | json_responses(BatchView | BatchPlan, _200="The batch is done; with `dryRun` its plan")

router = Operations("batches")


@router.operation("POST", "/v1/batches", "Start a batch", STARTED)
def start_batch(
    body: BatchRequest,
    dry_run: Annotated[bool, Query(alias="dryRun", description="As in the body, for JSON Lines")] = False,
    wait: Annotated[WaitSeconds, Query(description="As in the body, for JSON Lines")] = 0,
) -> Response[BatchView | BatchPlan]:
    """Check a batch and start it; 428 with the id to confirm where it destroys something.

    The body is JSON, or JSON Lines of steps (`application/jsonl`). The answer is 202 while the batch runs.
    """
    request = {"commands": body.commands, **body.options.model_dump()}
    return _begin(request, max(body.wait, wait), dry_run=body.dry_run or dry_run)


@router.operation("POST", "/v1/undo", "Undo changes", STARTED)
def undo_changes(body: UndoRequest) -> Response[BatchView | BatchPlan]:
    """Undo a change, a batch, or everything since a time, by a new batch; 428 where that destroys something.

    A step fails where somebody else has changed its target since, and shows both states.
    """
    request = {"undo": body.undo, "anyway": body.anyway, **body.options.model_dump()}
    return _begin(request, body.wait, dry_run=body.dry_run)


@router.operation("GET", "/v1/batches", "List batches")
def list_batches(
    everybody: Annotated[bool, Query(description="Those of all users, for an administrator")] = False,
    cursor: Annotated[str, Query(pattern=CURSOR, description="From the page before")] = "",
    limit: Annotated[int, Query(ge=1, le=ledger.MAX_PAGE_BATCHES)] = 20,
) -> BatchList:
    """List one's own batches, the newest first, those that run among them."""
    caller = current().caller
    with administration().permitted("batches.list", event="look") if everybody else nullcontext():
        return batch_list(*ledger.list_recent(caller.organization, None if everybody else caller.user, cursor, limit))


@router.operation("GET", "/v1/batches/<id>", "Show a batch", RUNNING)
def get_batch(
    id: str,  # noqa: A002 - the path's variable
    wait: Annotated[WaitSeconds, Query(description="Seconds to wait for the end before the answer")] = 0,
) -> Response[BatchView | BatchPlan]:
    """Show a batch with its steps, their times and their results."""
    return _follow(submission.find_own(current().caller, id), wait)


@router.operation("POST", "/v1/batches/<id>/cancel", "Cancel a batch", RUNNING)
def cancel_batch(id: str) -> Response[BatchView | BatchPlan]:  # noqa: A002 - the path's variable
    """Let no further step start; one that is done stays as it is."""
    caller = current().caller
    submission.cancel(caller, id)
    return _follow(submission.find_own(caller, id), 0)


@router.operation("POST", "/v1/batches/<id>/resume", "Resume a batch", RUNNING)
def resume_batch(id: str, body: ResumeRequest) -> Response[BatchView | BatchPlan]:  # noqa: A002 - the path's variable
    """Start a new batch with what succeeded in this one; failed, skipped and cancelled steps run again."""
    request = {"resume": id, "again": body.again, **body.options.model_dump()}
    return _begin(request, body.wait)


@router.operation("POST", "/v1/batches/<id>/confirm", "Confirm a batch", RUNNING)
def confirm_batch(id: str) -> Response[BatchView | BatchPlan]:  # noqa: A002 - the path's variable
    """Start the batch of a 428, after its person has agreed to what it destroys; twice is the same as once."""
    request = submission.find_question(current().caller, id)
    head = _prepare(request).submit(current().permissions, Agreement(can_ask=True, question=id, agreed=True))
    return _follow(head, 0)


def _prepare(request: Mapping[str, Any]) -> Submission:
    """Check what is to run, as a request or the question about it says."""
    return submission.prepare_described(current().permissions, request, current().request_id)


def _begin(request: dict[str, Any], wait: float, *, dry_run: bool = False) -> Response[BatchView | BatchPlan]:
    """Check a batch and start it, and return its state; of a dry run the plan."""
    submitted, left = _prepare(request), current().remaining
    if dry_run:
        return Response(200, JSON_TYPE, BatchPlan(plan=submitted.describe(current().permissions, left)))
    if submitted.destructive and len(pack(request)) > MAX_CONTEXT_BYTES:
        raise InvalidRequest(field="commands", problem="a batch that must be confirmed cannot be so large")
    try:
        head = submitted.submit(current().permissions, ASKED, request, seconds=left, wait=min(wait, left))
    except ConfirmationPending as pending:
        question = pending.details["confirmation"]
        raise pending.with_details(url=f"{current().request.public_url}/batches?confirm={question}") from None
    return _follow(head, wait)


def _follow(head: Header, wait: float) -> Response[BatchView | BatchPlan]:
    """Return the state of a batch, after its end or after some seconds."""
    exchange = current()
    if wait:
        head = submission.wait(head, min(wait, exchange.remaining))
    headers = {"location": f"{exchange.request.public_url}/v1/batches/{head.batch}"}
    view = batch_view(head, exchange.permissions)
    return Response(200 if head.done else 202, JSON_TYPE, view, headers=headers)


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
