"""Undo: changes become the steps of a batch of its own, each after those that undo what depended on it."""

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mcpist.batch.execution.executions import start_execution
from mcpist.batch.execution.plan import plan
from mcpist.batch.language.graph import Graph
from mcpist.batch.language.references import escape
from mcpist.batch.language.steps import MAX_BATCH_STEPS
from mcpist.batch.ledger import ledger, transitions
from mcpist.batch.ledger.items import now
from mcpist.batch.ledger.records import Entry, Header
from mcpist.batch_id import is_batch_id, undo_id
from mcpist.caller import Caller
from mcpist.errors import BatchNotFound, InvalidRequest, McpistError, NothingToUndo
from mcpist.running import changes, gate
from mcpist.running.changes import MAX_LISTED, MAX_TIME, ChangeContent, ChangeRecord
from mcpist.running.options import UNDO_TOOL
from mcpist.tools.access.permissions import Permissions

logger = logging.getLogger(__name__)

UNDO_MARGIN_SECONDS = 240  # within the warrant of the batch, which ends some minutes after it
_INHERITED = (
    *("organization", "user", "subject", "roles", "warrant", "expires_at", "client", "pins"),
    *("correlation", "traceparent"),
)
MAX_FOUND = 1_000
"""The most changes that one undo reads."""
MARGIN_SECONDS = 300
"""Before and after a batch: its last steps may end later, and clocks differ."""


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """The steps of an undo, and the changes that stay."""

    commands: Sequence[Mapping[str, Any]]
    changes: Sequence[Mapping[str, Any]]
    """The changes that the steps undo, each with its fields as they were and as it left them."""
    left: Sequence[Mapping[str, Any]]
    """The changes that stay, each with the reason."""


def plan_undo(caller: Caller, undo: str, *, anyway: bool = False) -> UndoPlan:
    """Return the batch that undoes a change, a batch, or all changes of a caller since a time; the newest are first.

    What does not fit into one batch is left, and can be undone by another. NothingToUndo if nothing is to be done.
    """
    records, commands, undone, left = _find(caller, undo), list[dict[str, Any]](), list[ChangeRecord](), []
    shown, ends = list[Mapping[str, Any]](), dict[str, str]()
    ancestors = _ancestors(caller, records)
    for record in records:
        content = changes.load(record) if not record.problem else None
        named = {"change": changes.reference(caller, record), "tool": record.tool, "at": record.created_at}
        if reason := _reason(record, len(content.calls) if content else 0, MAX_BATCH_STEPS - len(commands)):
            left.append({**named, "reason": reason})
        elif content:
            after = [ends[newer.id] for newer in undone if _depends(newer, record, ancestors)]
            commands += _steps(caller, record, content, after, anyway=anyway)
            ends[record.id] = commands[-1]["id"]
            undone.append(record)
            shown.append({**named, "was": content.was, "became": content.became})
    if not commands:
        reasons = "; ".join(dict.fromkeys(f"{one['tool']}: {one['reason']}" for one in left))
        raise NothingToUndo(undo=undo, reasons=reasons or "-")
    return UndoPlan(commands, shown, left)


def asked_undo(
    permissions: Permissions, module: str, tool: str, params: Mapping[str, Any], request: str
) -> dict[str, Any] | None:
    """Return the fields of the batch for which a call of the undo's tool stands; None for another tool."""
    if (module, tool) != UNDO_TOOL:
        return None
    use = gate.ToolUse(module, tool, params, request)
    with gate.refusals_audited(permissions.caller, [use]):
        found = permissions.tool(module, tool)
    checked = found.validate(params)
    return {"undo": checked["what"], "anyway": checked["anyway"]}


def list_changes(
    caller: Caller, *, user: str = "", batch: str = "", since: float = 0, limit: int = MAX_LISTED
) -> list[ChangeRecord]:
    """Return changes, the newest first; for those of one batch only the time in which it ran is read."""
    until = MAX_TIME
    if is_batch_id(batch):
        with suppress(BatchNotFound):  # changes are kept for longer than some batches
            head = ledger.get_header(ledger.partition_key(caller.organization, batch))
            since, until = max(since, head.started_at - MARGIN_SECONDS), head.closes_at + MARGIN_SECONDS
    return changes.list_changes(caller, user=user, batch=batch, since=since, until=until, limit=limit)


def undo_failed(head: Header, permissions: Permissions, relay: str) -> None:
    """Start the batch that takes back what succeeded of a batch that wants it, once a step of it has failed for good.

    It runs under the warrant of the failed batch, on the relay. Where a role demands an approval for what it destroys,
    or a policy an agreement, nothing starts: then a person undoes it. Repeating this starts no second batch.
    """
    if head.awaits_undo:
        transitions.mark_undone(head, _undo_failed(head, permissions, relay))


def _undo_failed(head: Header, permissions: Permissions, relay: str) -> str:
    """Return the id of the batch that has begun to take back what succeeded; empty where nothing is to be done."""
    try:
        planned = plan(list(plan_undo(permissions.caller, head.batch).commands), permissions)
    except McpistError as error:  # nothing is to be undone, or the caller may not do it any more
        logger.warning("no automatic undo", extra={"batch": head.batch, "code": error.code})
        return ""
    if permissions.approval_mode(planned.tools) or any(verdict.level != "permit" for verdict in planned.verdicts):
        return ""
    started_at = now()
    made = Header(
        **{name: getattr(head, name) for name in _INHERITED},
        batch=undo_id(head.batch),
        ids=tuple(step.id for step in planned.steps),
        needs=planned.graph.needs,
        started_at=started_at,
        closes_at=min(started_at + head.options.timeout, head.closes_at + UNDO_MARGIN_SECONDS),
        form="relay",
    )
    pairs = zip(planned.steps, planned.tools, strict=True)
    ledger.write_once(made, [Entry(index, step, tool.effect) for index, (step, tool) in enumerate(pairs)])
    start_execution(relay, made.batch, {"batch": made.pk, "step": -1})
    return made.batch


def _find(caller: Caller, undo: str) -> list[ChangeRecord]:
    user, _, named = undo.rpartition("/")
    if named.startswith("c_"):
        return [changes.find(caller, undo)]
    if is_batch_id(named):
        return _of_batch(caller, user, named)
    try:
        moment = datetime.fromisoformat(named)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        problem = "it is a change, a batch, or a time such as 2026-01-31T09:00:00Z"
        raise InvalidRequest(field="undo", problem=problem)
    return _without_undos(list_changes(caller, user=user, since=moment.timestamp(), limit=MAX_FOUND))


def _of_batch(caller: Caller, user: str, batch: str) -> list[ChangeRecord]:
    """Return the changes of a batch, and of those that it resumes, the newest first.

    An administrator need not say whose it is: who looks at the runs of an automation knows their batches alone.
    """
    found: list[ChangeRecord] = []
    while batch:
        head = None
        with suppress(BatchNotFound):
            head = ledger.get_header(ledger.partition_key(caller.organization, batch))
        owner = user or (head.user if head and caller.system_role == "admin" else "")
        found += list_changes(caller, user=owner, batch=batch, limit=MAX_FOUND)
        batch = head.resumes if head else ""
    return found


def _without_undos(records: list[ChangeRecord]) -> list[ChangeRecord]:
    """Leave out what has undone one of these changes: to undo that as well would do it again."""
    ids, batches = {one.id for one in records}, {one.undone_by for one in records if one.undone_by}
    return [one for one in records if one.undoes not in ids and (one.undoes or one.batch not in batches)]


def _reason(record: ChangeRecord, calls: int, room: int) -> str:
    """Return why a change stays; empty if it is undone."""
    if record.problem:
        return record.problem
    if record.undone_by:
        return f"undone by {record.undone_by}"
    return "" if calls <= room else f"a batch has at most {MAX_BATCH_STEPS} steps: undo the rest with another"


def _ancestors(caller: Caller, records: Sequence[ChangeRecord]) -> dict[str, Mapping[str, frozenset[str]]]:
    """Return for each batch the steps that each of its steps waited for; a batch that is no longer known has none."""
    found: dict[str, Mapping[str, frozenset[str]]] = {}
    for batch in {record.batch for record in records if record.batch}:
        try:
            head = ledger.get_header(ledger.partition_key(caller.organization, batch))
        except BatchNotFound:
            continue
        sets = Graph(head.needs).ancestors
        found[batch] = {id_: frozenset(head.ids[need] for need in sets[i]) for i, id_ in enumerate(head.ids)}
    return found


def _depends(newer: ChangeRecord, older: ChangeRecord, ancestors: Mapping[str, Mapping[str, frozenset[str]]]) -> bool:
    """Whether a change may be undone only after a newer one: it has the same target, or may be what that one needed."""
    if newer.target and newer.target == older.target:
        return True
    if newer.batch and newer.batch == older.batch and newer.batch in ancestors:
        return older.step in ancestors[newer.batch][newer.step]
    return older.creates


def _steps(
    caller: Caller, record: ChangeRecord, content: ChangeContent, after: Sequence[str], *, anyway: bool
) -> list[dict[str, Any]]:
    """Return the calls that undo a change in a row; the first claims it."""
    own = {"account": record.account} if record.user == caller.user and record.account else {}
    steps: list[dict[str, Any]] = []
    for number, (tool, arguments) in enumerate(content.calls):
        id_ = f"undo_{record.id[2:]}" + (f"_{number}" if number else "")
        first = {"undoes": changes.reference(caller, record), **({"anyway": True} if anyway else {})}
        needs = [steps[-1]["id"]] if steps else list(after)
        step = {"id": id_, "module": record.tool.partition(".")[0], "tool": tool, "params": escape(arguments), **own}
        steps.append({**step, **({"after": needs} if needs else {}), **({} if number else first), "output": True})
    return steps
