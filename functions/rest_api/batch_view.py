"""A batch and its results as JSON for programs."""

import time
from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import Field

from mcpist.batch.execution import opening
from mcpist.batch.execution.submission import MAX_BATCH_WAIT_SECONDS
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.progress import progress
from mcpist.batch.ledger.records import BatchState, Entry, Header
from mcpist.batch.options import BatchOptions
from mcpist.caller import Caller
from mcpist.errors import from_message
from mcpist.files import access
from mcpist.render.answer import compact_json
from mcpist.render.shows import project
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.tool import Effect
from rest_api.exchange import timestamp
from rest_api.router import Body, RequestBody, body_of, is_too_deep

MAX_RESULT_CHARACTERS = 2_000_000  # of all results in a response; a Lambda response may have 6 MB
JSON_TYPE = "application/json"
WaitSeconds = Annotated[
    float, Field(ge=0, le=MAX_BATCH_WAIT_SECONDS, description="Seconds to wait for the end before the answer")
]


class BatchRequest(RequestBody, BatchOptions):
    """A new batch: its steps as JSON Lines or as a list of objects."""

    commands: Annotated[str | list[dict[str, Any]], Field(json_schema_extra={"minLength": 1, "minItems": 1})]
    dry_run: Annotated[bool, Field(description="Only check the batch and show its plan")] = False
    wait: WaitSeconds = 0


class ResumeRequest(RequestBody, BatchOptions):
    """The steps that a resumption repeats."""

    again: Annotated[list[str], Field(max_length=1_000, description="Steps that may have written, to repeat")] = []
    wait: WaitSeconds = 0


class UndoRequest(RequestBody, BatchOptions):
    """An undo: a batch of its own."""

    undo: Annotated[str, Field(min_length=1, max_length=300, description="A change, a batch, or a time since when")]
    anyway: Annotated[bool, Field(description="Also undo what somebody else has changed since")] = False
    dry_run: Annotated[bool, Field(description="Only show the plan: what it undoes, and what it leaves")] = False
    wait: WaitSeconds = 0


class StepError(Body):
    """The error of a step or an element."""

    code: str
    error: str
    hint: str
    details: dict[str, Any]


class ElementCounts(Body):
    """The elements of a step with `each`: how many there are, and how they ended."""

    count: int
    settled: int
    succeeded: int = 0
    failed: int = 0
    skipped: int = 0
    cancelled: int = 0
    unknown: int = 0


class ElementFailure(Body):
    """An element that failed, or may have happened."""

    index: int
    status: str
    error: StepError | None = None


class StepView(Body):
    """A step: its state, when it ran, and its result where its line asks for it."""

    id: str
    line: int
    tool: str
    effect: Effect
    state: str
    needs: list[str]
    waits_for: list[str]
    kept: Annotated[bool, Field(description="Whether its result is that of the batch that this one resumes")]
    started_at: str | None = None
    ended_at: str | None = None
    elements: ElementCounts | None = None
    element_failures: list[ElementFailure] = []
    account: str = ""
    more: Annotated[str, Field(description="How to read the rest of a list that was cut")] = ""
    result: Annotated[Any, Field(description="With `output` the rows that the tool shows, with `raw_output` all")] = (
        None
    )
    result_file: Annotated[dict[str, Any] | None, Field(description="The file of a result that is too large")] = None
    error: StepError | None = None


class OpeningView(Body):
    """An administrator who opened the results of another user's batch."""

    by: str
    reason: str
    at: str


class BatchSummary(Body):
    """A batch: its state, its times, and how many of its steps ended in which way."""

    id: str
    user: Annotated[str, Field(description="Who started it")]
    state: BatchState
    done: bool
    form: str
    resumes: str
    undone_by: Annotated[str, Field(description="The batch that takes back what can be, since a step failed")]
    started_at: str
    closes_at: str
    expires_at: str
    settled: int
    total: int
    outcomes: Annotated[dict[str, int], Field(description="The number of steps by how they ended")]


class BatchList(Body):
    """A page of batches, the newest first."""

    batches: list[BatchSummary]
    cursor: Annotated[str, Field(description="Of the next page; empty on the last one")]


class BatchView(BatchSummary):
    """A batch with its steps and their results; the times of the steps are its timeline."""

    results_hidden: Annotated[
        bool, Field(description="Whether it is another user's, and an administrator has not opened it in the console")
    ]
    openings: Annotated[list[OpeningView], Field(description="Who else opened the results, when and why")]
    steps: list[StepView]


class BatchPlan(Body):
    """The plan of a batch that did not run: its steps, its machine, and what it destroys."""

    dry_run: Annotated[bool, Field(json_schema_extra={"const": True})] = True
    plan: dict[str, Any]


def batch_view(head: Header, permissions: Permissions) -> BatchView:
    """Return the current state of a batch, with its steps in the order of their lines."""
    entries = opening.readable_entries(head, permissions.caller)
    returned = sum(entry.step.output or entry.step.raw_output for entry in entries)
    share = MAX_RESULT_CHARACTERS // max(1, returned)
    steps = zip(entries, progress(head, entries, time.time())["steps"], strict=True)
    views = [_step_view(head, entry, fields, permissions, share) for entry, fields in steps]
    return _summary(
        BatchView,
        head,
        results_hidden=not opening.is_readable(head, permissions.caller),
        openings=[body_of(OpeningView, one, at=timestamp(one.at)) for one in head.openings],
        steps=views,
    )


def batch_list(heads: Iterable[Header], cursor: str) -> BatchList:
    """Return a page of batches."""
    return BatchList(batches=[_summary(BatchSummary, head) for head in heads], cursor=cursor)


def _summary[Summary: BatchSummary](model: type[Summary], head: Header, **more: Any) -> Summary:
    return body_of(
        model,
        head,
        id=head.batch,
        undone_by=head.undone_by or "",
        settled=len(head.seq),
        total=len(head.ids),
        outcomes=dict(Counter(sorted(head.outcome.values()))),
        **{name: timestamp(getattr(head, name)) for name in ("started_at", "closes_at", "expires_at")},
        **more,
    )


def _step_view(head: Header, entry: Entry, fields: dict[str, Any], permissions: Permissions, share: int) -> StepView:
    caller, ending = permissions.caller, entry.ending
    times = {name: timestamp(fields.pop(name)) for name in ("started_at", "ended_at") if name in fields}
    elements = fields.pop("elements", None)
    return StepView(
        **fields,
        **times,
        elements=ElementCounts(**elements) if elements else None,
        element_failures=[
            ElementFailure(index=index, status=element["status"], error=_element_error(element))
            for index, element in enumerate(entry.statuses or ())
            if element["status"] in {"failed", "unknown"}
        ],
        account=ending.account if ending else "",
        more=ending.more if ending else "",
        error=_error(entry.error, caller) if entry.error is not None else None,
        **_result(head, entry, permissions, share),
    )


def _result(head: Header, entry: Entry, permissions: Permissions, share: int) -> dict[str, Any]:
    """Return the result that a step's line asks for; in a file where it is too large or is one already."""
    step, stored = entry.step, entry.result
    if stored is None or not (step.output or step.raw_output):
        return {}
    if stored.file and head.user != permissions.caller.user:  # a file belongs to the user whose batch caused it
        return {"result_file": dict(stored.file)}
    raw = ledger.load_json(head, stored)
    if step.raw_output:
        value = raw
    else:
        shows = permissions.catalogue.shows(step.module, step.tool)
        results = raw if step.each else [raw]
        rows = [project(result, shows) for result in results if result is not None]
        value = rows if step.each else next(iter(rows), [])
    text = compact_json(value)
    if len(text) <= share and not is_too_deep(value):
        return {"result": value}
    file = access.put(permissions.caller, text.encode(errors="replace"), JSON_TYPE)
    return {"result_file": file.reference.model_dump()}


def _error(message: Any, caller: Caller) -> StepError:
    fields = from_message(message).as_dict(caller.locale)
    return StepError(code=fields["code"], error=fields["message"], hint=fields["hint"], details=fields["details"])


def _element_error(element: Any) -> StepError | None:
    # The ledger keeps only the code and the message of an element's error: a thousand of them share an item.
    error = element.get("error")
    return StepError(code=error["code"], error=error["message"], hint="", details={}) if error else None
