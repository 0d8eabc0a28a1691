"""Writes that can be undone: the state before is read and kept, and an undo first compares its target with that.

A change is claimed for its undo before anything is sent, and released only where it is certain that nothing happened:
so it is undone at most once, whatever is killed.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from mcpist.aws.attributes import Item
from mcpist.caller import Caller
from mcpist.errors import McpistError, NotUndoable, StoreUnavailable, TargetChanged
from mcpist.render.shows import project
from mcpist.running import changes
from mcpist.running.changes import ChangeContent, ChangeRecord
from mcpist.running.options import RunOptions
from mcpist.tools.declare.call import OtherTools
from mcpist.tools.declare.tool import Tool
from mcpist.tools.declare.undo import ToolChange, Undo, values_of

if TYPE_CHECKING:
    from mcpist.audit.rows import AuditColumns

NOT_FOUND = 404
SHAPE_ERRORS = (AttributeError, LookupError, TypeError, ValueError)
"""What a pure function raises on JSON of a shape that it does not know."""
OTHER_SHAPE = "the service answered in another shape than its undo reads"
UNDECLARED = "nobody has declared what undoes it"
logger = logging.getLogger(__name__)


class Targets(OtherTools, Protocol):
    """The other tools of a caller, and those of the same module with the account that writes."""

    def sibling(self, tool: str) -> Tool:
        """Return a tool of the same module."""

    def read_target(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Return the JSON of a reading tool, as if the caller had called it."""


@dataclass(slots=True)
class PendingChange:
    """A write that is about to happen, whose answer comes next."""

    answer: Any = None
    account: str = ""
    """The label of the account that acted."""
    kept: list[Item] = field(default_factory=list)
    """What is kept of it, to be written with the audit row that names it."""


@contextmanager
def undoable(
    caller: Caller,
    tool: Tool,
    arguments: Mapping[str, Any],
    options: RunOptions,
    targets: Targets,
    row: "AuditColumns",
    step: str,
) -> Iterator[PendingChange]:
    """Keep what undoes the write in this context, where its caller or its organization wants that.

    With `undoes` the write is itself the undo of a change: TargetChanged where somebody else has changed its target
    since, AlreadyUndone where it has been undone.
    """
    pending, by = PendingChange(), row["batch"] or row["request"]
    wanted = options.undoable or caller.undoable
    before = _before(tool, arguments, targets, is_required=options.undoable) if wanted else None
    undone = _claim(caller, tool, arguments, options, targets, by) if options.undoes else None
    try:
        yield pending
    except McpistError as error:
        if undone and not error.details.get("may_have_happened"):
            with suppress(McpistError):  # then nobody undoes it again, which is safe
                changes.release(undone, by)
        raise
    if before:
        change, known = replace(before[0], answer=pending.answer), before[1]
        content, problem = _content(tool, change, targets, known, row["request"])
        more = {"batch": row["batch"], "step": step, "account": pending.account, "problem": problem}
        more["undoes"] = undone.id if undone else ""
        name, creates = f"{tool.module}.{tool.name}", bool(tool.undo and tool.undo.creates)
        try:
            made = changes.new_item(caller, name, content, creates=creates, **more)
        except StoreUnavailable:  # it has happened, and an error would say that it has not
            logger.exception("change not kept")
        else:
            row["change"] = made["id"]
            pending.kept.append(made)


def describe(tool: Tool) -> str:
    """Return why a tool cannot be undone; empty where it can."""
    return "" if tool.undo else tool.irreversible or UNDECLARED


def read_before(tool: Tool, arguments: Mapping[str, Any], targets: Targets) -> ToolChange:
    """Return a change that is about to happen, with the JSON of the declared read of its target where it has one."""
    undo, change = tool.undo, ToolChange(tool.name, arguments)
    if undo is None or not undo.read or undo.creates:
        return change
    try:
        target = _target(undo, change, targets)
    except SHAPE_ERRORS:
        raise NotUndoable(tool=f"{tool.module}.{tool.name}", problem=OTHER_SHAPE) from None
    return replace(change, before=_read(targets, undo.read, target))


def target_now(tool: Tool, change: ToolChange, targets: Targets) -> Mapping[str, Any] | None:
    """Return the target before a change as its read shows it; None where it is not one thing."""
    if tool.undo is None or change.before is None:
        return None
    rows = project(change.before, targets.sibling(tool.undo.read).shows)
    return rows[0] if len(rows) == 1 else None


def difference(tool: Tool, change: ToolChange) -> dict[str, dict[str, Any]]:
    """Return the fields that a change would write, or of what it would destroy, as they are now and then."""
    undo = tool.undo
    if undo is None:
        return {}
    written = {name: value for name, value in change.arguments.items() if value is not None}
    if undo.creates:
        return {name: {"now": None, "then": value} for name, value in written.items()}
    now = undo.fields_of(change.before, change)
    then = undo.written_by(change) or ({} if tool.effect == "destroys" else written)
    pairs = {name: {"now": now[name], "then": then.get(name)} for name in now}
    return {name: pair for name, pair in pairs.items() if pair["now"] != pair["then"]}


def told_by(tool: Tool, change: ToolChange) -> dict[str, Any]:
    """Return the people whom the service would tell of a change, by kind."""
    return {kind: told for kind, told in values_of(change, tool.tells).items() if told}


def _read(targets: Targets, tool: str, target: Mapping[str, Any]) -> Any:
    """Return the JSON of a target; None where the service says that there is none."""
    try:
        return targets.read_target(tool, target)
    except McpistError as error:
        if NOT_FOUND in {error.status, error.details.get("http_status")}:
            return None
        raise


def _target(undo: Undo, change: ToolChange, targets: Targets) -> dict[str, Any]:
    return undo.target_of(change, targets.sibling(undo.read).input_schema["properties"])


def _before(tool: Tool, arguments: Mapping[str, Any], targets: Targets, *, is_required: bool) -> tuple[ToolChange, str]:
    """Return a change with the state before it, and why it cannot be undone, as far as that is known.

    Where a caller demands that it can be, NotUndoable and the errors of the read.
    """
    problem = describe(tool)
    if is_required and problem:
        raise NotUndoable(tool=f"{tool.module}.{tool.name}", problem=problem)
    try:
        return read_before(tool, arguments, targets), problem
    except McpistError:
        if is_required:
            raise
        return ToolChange(tool.name, arguments), "the state before could not be read"


def _content(tool: Tool, change: ToolChange, targets: Targets, problem: str, request: str) -> tuple[ChangeContent, str]:
    """Return the content of a change that has happened, and why it cannot be undone.

    Of one that nothing undoes only the arguments are kept, to be looked at, and no secret of them.
    """
    arguments, undo = tool.masked(dict(change.arguments)), tool.undo
    shown = ChangeContent(tool=tool.name, arguments={} if tool.reveals else arguments, nonce=request)
    if undo is None or problem:
        return shown, problem
    try:
        content = ChangeContent(
            tool=tool.name,
            arguments=arguments,
            nonce=request,
            answer=change.answer,
            before=change.before,
            was=undo.fields_of(change.before, change),
            became=undo.written_by(change),
            read=undo.read,
            target=_target(undo, change, targets) if undo.read else {},
            calls=tuple((call.tool, call.arguments) for call in undo.calls(change)),
        )
    except NotUndoable as error:
        return shown, str(error.details["problem"])
    except SHAPE_ERRORS:
        logger.exception("answer of another shape", extra={"tool": f"{tool.module}.{tool.name}"})
        return shown, OTHER_SHAPE
    return (content, "") if content.calls else (replace(content, arguments=shown.arguments), "it has changed nothing")


def _claim(
    caller: Caller, tool: Tool, arguments: Mapping[str, Any], options: RunOptions, targets: Targets, by: str
) -> ChangeRecord:
    """Return the change that this write undoes, for nobody else to undo."""
    record = changes.find(caller, options.undoes)
    content = changes.load(record)
    module = record.tool.partition(".")[0]
    is_undo = content.calls and (module, content.calls[0][0]) == (tool.module, tool.name)
    if record.problem or not is_undo or tool.validate(content.calls[0][1]) != arguments:
        raise NotUndoable(tool=record.tool, problem=record.problem or "this is not the call that undoes it")
    if not options.anyway and (differences := compare(content, targets)):
        raise TargetChanged(tool=record.tool, fields=", ".join(differences), differences=differences)
    changes.claim(record, by)
    return record


def compare(content: ChangeContent, targets: Targets) -> dict[str, dict[str, Any]]:
    """Return the fields of a change's target that are not as the change left them: `{field: {left, now}}`."""
    undo = targets.sibling(content.tool).undo
    if undo is None or not content.read or not content.became:
        return {}
    change = ToolChange(content.tool, content.arguments, content.answer, content.before)
    now = undo.fields_of(_read(targets, content.read, content.target), change)
    names = dict.fromkeys((*content.became, *now))
    pairs = {name: {"left": content.became.get(name), "now": now.get(name)} for name in names}
    return {name: pair for name, pair in pairs.items() if pair["left"] != pair["now"]}
