"""The page `/batches`: a list, a batch with `id`, or a question about one with `confirm`; and what its forms change."""

from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from console.batches import watching
from console.lists import Columns, export, named_columns, read_on
from console.visit import Visit
from mcpist.batch.execution import opening, submission
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.ledger import list_recent
from mcpist.batch.ledger.records import Header
from mcpist.errors import ApprovalPending, BatchNotFound, ConfirmationDeclined, ConfirmationPending, InvalidRequest
from mcpist.files import access
from mcpist.http.request import HttpResponse
from mcpist.moments import utc_text
from mcpist.people import questions
from mcpist.running.confirmation import Agreement

BATCHES_PAGE, PAGE_BATCHES = "/batches", 20
EXAMPLE_BATCH = """mcpist batch --watch - <<'STEPS'
{"id":"list","module":"files","tool":"list","params":{"limit":5}}
{"id":"look","module":"files","tool":"stat","each":"${list.items}","params":{"path":"${each.path}"},"output":true}
STEPS"""
EVERYBODY = "everybody"
ASKED = Agreement(can_ask=True)


def seconds_of(head: Header) -> float | None:
    """Return the duration of a batch; None before its end."""
    return head.changed_at - head.started_at if head.done and head.changed_at else None


COLUMNS: Columns[Header] = named_columns(
    "batch state steps started_at seconds user",
    state=watching.state_of,
    steps=lambda head: len(head.ids),
    started_at=lambda head: utc_text(head.started_at),
    seconds=seconds_of,
)


def show(visit: Visit) -> HttpResponse:
    """Show what the query names."""
    if visit.request.query.get("confirm"):
        return _ask(visit)
    return watching.show(visit) if visit.request.query.get("id") else _list(visit)


def submit(visit: Visit) -> HttpResponse:
    """Perform the action of a form."""
    actions = {"cancel": _cancel, "open": _open, "resume": _resume, "keep": _keep, "confirm": _confirm}
    if (action := actions.get(visit.request.form_value("action"))) is None:
        raise InvalidRequest(field="action", problem="this action is unknown")
    return action(visit)


def _list(visit: Visit) -> HttpResponse:
    """Show a page of the list; that of everybody only to administrators."""
    everybody = visit.request.query.get("of", "") == EVERYBODY
    before, user = visit.request.query.get("before", ""), None if everybody else visit.caller.user

    def read(cursor: str, limit: int = ledger.MAX_PAGE_BATCHES) -> tuple[Sequence[Header], str]:
        return list_recent(visit.caller.organization, user, cursor, limit)

    with visit.administration.permitted("batches.list", event="look") if everybody else nullcontext():
        if exported := export(visit, "batches", read_on(read, before), COLUMNS):
            return exported
        heads, cursor = read(before, PAGE_BATCHES)
    outcomes = (Counter(sorted(head.outcome.values())) for head in heads)
    rows = [
        (head, watching.state_of(head), seconds_of(head), ended) for head, ended in zip(heads, outcomes, strict=True)
    ]
    return visit.page(
        "batches/list.html",
        rows=rows,
        cursor=cursor,
        everybody=everybody,
        example=EXAMPLE_BATCH,
        questions={} if everybody else questions.find_waiting(visit.caller),
    )


def _cancel(visit: Visit) -> HttpResponse:
    """Let no further step of a batch start."""
    batch = visit.request.form_value("id")
    submission.cancel(visit.caller, batch)
    return visit.redirect(BATCHES_PAGE, id=batch, done="batch_cancelled")


def _open(visit: Visit) -> HttpResponse:
    """Let an administrator read the results of another user's batch."""
    batch = visit.request.form_value("id")
    opening.open_results(visit.caller, batch, visit.request.form_value("reason"))
    return visit.redirect(BATCHES_PAGE, id=batch, done="batch_opened")


def _resume(visit: Visit) -> HttpResponse:
    """Start a new batch with what succeeded in this one, or ask first where it destroys something."""
    again = visit.request.form.get("again", [])
    return begin(visit, {"resume": visit.request.form_value("id"), "again": again}, done="batch_resumed")


def begin(visit: Visit, context: dict[str, Any], consent: Agreement = ASKED, *, done: str) -> HttpResponse:
    """Start a batch and lead to its page; lead to the question about it where it destroys something."""
    prepared = submission.prepare_described(visit.permissions, context, visit.request_id)
    try:
        head = prepared.submit(visit.permissions, consent, context, seconds=visit.remaining)
    except ConfirmationPending as question:
        return visit.redirect(BATCHES_PAGE, confirm=question.details["confirmation"])
    except ApprovalPending as waits:
        return visit.redirect("/approvals", id=waits.details["approval_id"])
    return visit.redirect(BATCHES_PAGE, id=head.batch, done=done)


def _keep(visit: Visit) -> HttpResponse:
    """Keep a step's result as a file of the batch's user, and show it."""
    head = submission.find_own(visit.caller, visit.request.form_value("id"))
    # Also for an administrator, who may look at it: the result is the user's alone.
    if head.user != visit.caller.user:
        raise BatchNotFound(batch=head.batch)
    entry = watching.find_entry(ledger.get_entries(head.pk), visit.request.form_value("step"))
    if entry.result is None:
        raise InvalidRequest(field="step", problem="it has no result")
    made = watching.file_content(head, entry, visit.permissions)
    file = access.put(visit.caller, made.content, made.content_type, made.name)
    return visit.redirect("/files", sha256=file.sha256, done="file_kept")


def _ask(visit: Visit) -> HttpResponse:
    """Show what a batch destroys, with tools, targets and accounts, to the person who is to agree to it."""
    question = visit.request.query["confirm"]
    context = submission.find_question(visit.caller, question)
    prepared = submission.prepare_described(visit.permissions, context, visit.request_id)
    _, subject = prepared.question(visit.permissions)
    asked = questions.load(visit.caller, question, questions.digest_of(visit.caller, *subject))
    if asked.accepted_at is not None:
        return visit.redirect(BATCHES_PAGE, id=question)
    return visit.page(
        "batches/confirm.html",
        question=question,
        uses=prepared.show_again(visit.permissions, question, visit.remaining),
        steps=len(prepared.runs),
        resumed=context.get("resume", ""),
    )


def _confirm(visit: Visit) -> HttpResponse:
    """Start the batch of a question once its person agrees; otherwise the question is closed."""
    question = visit.request.form_value("question")
    context = dict(submission.find_question(visit.caller, question))
    consent = Agreement(can_ask=True, question=question, agreed=visit.request.form_value("agreed") == "yes")
    try:
        return begin(visit, context, consent, done="batch_confirmed")
    except ConfirmationDeclined:
        return visit.redirect(BATCHES_PAGE, id=context.get("resume", ""), done="batch_declined")
