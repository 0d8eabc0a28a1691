"""The page `/approvals`: what waits for a person's decision, one approval with `id`, and what its forms decide."""

from typing import Any

from console.batches.pages import begin
from console.lists import Columns, export, named_columns
from console.rendering import ShownText, json_text, shown_text
from console.visit import Visit
from mcpist.errors import ApprovalNotFound, InvalidRequest, from_message
from mcpist.files.values import readable_json
from mcpist.http.request import HttpResponse
from mcpist.moments import utc_text
from mcpist.running import approvals, gate
from mcpist.running.approvals import Approval
from mcpist.running.confirmation import Agreement
from mcpist.running.gate import ToolUse

COLUMNS: Columns[Approval] = named_columns(
    "id tools state requested_at decided_by reason", requested_at=lambda one: utc_text(one.requested_at)
)
APPROVALS_PAGE = "/approvals"
MAX_OUTCOME_CHARACTERS, MAX_STEPS_CHARACTERS = 12_000, 60_000


def show(visit: Visit) -> HttpResponse:
    """Show an approval with all that its person must know, or the lists."""
    approval = visit.request.query.get("id", "")
    return _show_one(visit, approvals.find(visit.permissions, approval)) if approval else _show_lists(visit)


def submit(visit: Visit) -> HttpResponse:
    """Perform the action of a form."""
    form, approval = visit.request.form_value, visit.request.form_value("id")
    match form("action"):
        case "agree":
            approvals.approve(visit.permissions, approval)
            return visit.redirect(APPROVALS_PAGE, id=approval, done="approved")
        case "refuse":
            approvals.decline(visit.permissions, approval, form("reason"))
            return visit.redirect(APPROVALS_PAGE, id=approval, done="request_declined")
        case "cancel":
            approvals.cancel(visit.caller, approval)
            return visit.redirect(APPROVALS_PAGE, id=approval, done="request_cancelled")
        case "run":
            return _run(visit, approval)
        case "notify":
            from mcpist.running import notification  # a cold start need not wait for it

            made = notification.set_address(visit.administration, visit.permissions.catalogue, form("url"))
            return _show_lists(visit, secret="" if made.place or not made.url else made.secret)
    raise InvalidRequest(field="action", problem="this action is unknown")


def _show_lists(visit: Visit, *, secret: str = "") -> HttpResponse:
    """Show what waits and what the person has asked for; `secret` is that of a new address, shown once."""
    from mcpist.running.notification_address import find_address  # a cold start need not wait for it

    found = find_address(visit.caller.organization) if visit.is_administrator else None
    mine = approvals.list_own(visit.caller)
    if exported := export(visit, "approvals", mine, COLUMNS):
        return exported
    return visit.page("approvals.html", found=None, mine=mine, host=found.host if found else "", secret=secret)


def _show_one(visit: Visit, found: Approval) -> HttpResponse:
    is_own = found.requested_by == visit.caller.user
    return visit.page(
        "approvals.html",
        found=found,
        is_own=is_own,
        may_approve=found.state == "waiting" and not (is_own and found.mode == "second_person"),
        steps="" if found.is_call else _steps(found.request),
        outcome=_outcome(visit, found) if is_own and found.outcome else None,
    )


def _run(visit: Visit, approval: str) -> HttpResponse:
    """Run what was approved, as its requester."""
    found = approvals.find_own(visit.caller, approval)
    if found is None:
        raise ApprovalNotFound(approval_id=approval)
    consent = Agreement(can_ask=True, question=approval, agreed=True)
    if not found.is_call:
        return begin(visit, found.request, consent, done="batch_confirmed")
    use = ToolUse.of_request(found.request, visit.request_id)
    gate.admit(visit.permissions, use, consent).run(visit.remaining)
    return visit.redirect(APPROVALS_PAGE, id=approval, done="request_run")


def _steps(request: dict[str, Any]) -> str:
    """Return the whole batch as it was sent: the steps that only read or write decide what is destroyed, too."""
    commands = request.get("commands", request)
    text = commands if isinstance(commands, str) else json_text(commands)
    return text[:MAX_STEPS_CHARACTERS]


def _outcome(visit: Visit, found: Approval) -> ShownText:
    kept = approvals.outcome_of(visit.caller, found)
    if "error" in kept:
        return shown_text(" ".join(from_message(kept["error"]).text(visit.texts.language)), MAX_OUTCOME_CHARACTERS)
    return shown_text(readable_json(kept["result"]["json"]).decode(), MAX_OUTCOME_CHARACTERS)
