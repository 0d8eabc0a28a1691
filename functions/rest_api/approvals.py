"""The routes of approvals: what waits for a person, and what was decided."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import Field

from mcpist.caller import ApprovalMode
from mcpist.running import approvals, notification
from mcpist.running.approvals import Approval, ApprovalState
from rest_api.administration.changes import administration, shown_once
from rest_api.exchange import current, timestamp
from rest_api.router import Body, Operations, RequestBody

router = Operations("approvals")


class ApprovalSummary(Body):
    """A request that waits for a person, or has waited."""

    approval_id: str
    state: ApprovalState
    mode: Annotated[ApprovalMode, Field(description="Whether another person than the requester must approve")]
    tools: Annotated[list[str], Field(description="The tools that destroy")]
    requested_by: str
    requested_at: str
    until: Annotated[str, Field(description="When the time for the decision ends, or for the use after it")]
    client: Annotated[str, Field(description="The program that sent the request, as it names itself")]
    decided_by: str
    reason: Annotated[str, Field(description="Why it was declined")]
    url: Annotated[str, Field(description="The page on which a person decides")]


class ApprovalDetail(ApprovalSummary):
    """An approval with what the person decides about."""

    destructive: Annotated[list[dict[str, Any]], Field(description="What is destroyed, with targets and accounts")]
    outcome: Annotated[
        dict[str, Any] | None, Field(description="`result` or `error` of a call that has ended; for its requester")
    ] = None


class ApprovalList(Body):
    """Approvals."""

    approvals: list[ApprovalSummary]


class DeclineRequest(RequestBody):
    """Why a request is declined."""

    reason: Annotated[str, Field(min_length=1, max_length=approvals.MAX_REFUSAL_CHARACTERS)]


class NotificationRequest(RequestBody):
    """Where the organization is told that something waits."""

    url: Annotated[
        str, Field(max_length=2_000, description="An https address, or SERVICE:ROLE/CHANNEL; empty to tell nobody")
    ]


class NotificationBody(Body):
    """The address, and the key of the signatures, which is shown only now."""

    url: str
    secret: str


@router.operation("GET", "/v1/approvals", "List approvals")
def list_approvals(
    of: Annotated[
        Literal["waiting", "mine"], Query(description="Those that you may decide about, or those of your own requests")
    ] = "waiting",
) -> ApprovalList:
    """List the approvals that wait for your decision, or those that you have asked for."""
    if of == "mine":
        found = [one.summary() for one in approvals.list_own(current().caller)]
    else:
        found = approvals.list_waiting(current().permissions)
    return ApprovalList(approvals=[ApprovalSummary.model_validate(_timed(one)) for one in found])


@router.operation("GET", "/v1/approvals/<id>", "Show an approval")
def get_approval(id: str) -> ApprovalDetail:  # noqa: A002 - the path's variable
    """Show an approval with what it destroys, to its requester and to those who may decide."""
    return _detail(approvals.find(current().permissions, id))


@router.operation("POST", "/v1/approvals/<id>/approve", "Approve a request")
def approve_request(id: str) -> ApprovalDetail:  # noqa: A002 - the path's variable
    """Refuse every token, since a program may hold it: the error has the address where a person approves."""
    return _detail(approvals.approve(current().permissions, id))


@router.operation("POST", "/v1/approvals/<id>/decline", "Decline a request")
def decline_approval(id: str, body: DeclineRequest) -> ApprovalDetail:  # noqa: A002 - the path's variable
    """Decline a request that waits, and say why."""
    return _detail(approvals.decline(current().permissions, id, body.reason))


@router.operation("POST", "/v1/approvals/<id>/cancel", "Cancel a request")
def cancel_approval(id: str) -> ApprovalDetail:  # noqa: A002 - the path's variable
    """Cancel your own request, as long as it has not run."""
    return _detail(approvals.cancel(current().caller, id))


@router.operation("PUT", "/v1/organization/notification", "Set the address of notifications", tag="administration")
def set_notification(body: NotificationRequest) -> Response[NotificationBody]:
    """Tell the organization at another address when something waits; the answer has the new key of the signatures."""
    made = notification.set_address(administration(), current().permissions.catalogue, body.url)
    return shown_once(NotificationBody(url=made.url, secret=made.secret), 200)


def _detail(found: Approval) -> ApprovalDetail:
    caller = current().caller
    outcome = approvals.outcome_of(caller, found) if found.outcome and found.requested_by == caller.user else None
    destructive = [one.as_dict() for one in found.uses]
    return ApprovalDetail.model_validate({**_timed(found.summary()), "destructive": destructive, "outcome": outcome})


def _timed(summary: Mapping[str, Any]) -> dict[str, Any]:
    return {**summary} | {name: timestamp(summary[name]) for name in ("requested_at", "until")}
