"""Preview of a call: the exact request, its target as it is now, the difference, and what undoes it.

Nothing is sent that changes anything. A tool that reads before it writes does its reads; the target costs one more.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from mcpist.audit import record as audit
from mcpist.errors import McpistError, NotUndoable
from mcpist.files.parameters import load_arguments
from mcpist.running.accounts import Account
from mcpist.running.gate import AdmittedUse, OtherReadingTools, ToolUse, weigh
from mcpist.running.run import ToolRun
from mcpist.running.undoing import describe, difference, read_before, target_now, told_by
from mcpist.tools.access.permissions import Permissions, acting_caller
from mcpist.tools.declare.call import Call, Lookup, ProxiedCall, ServiceResponse, Work
from mcpist.tools.declare.tool import Tool
from mcpist.tools.declare.undo import ToolChange

if TYPE_CHECKING:
    from mcpist.audit.rows import AuditColumns

PREVIEWED = "previewed"


@dataclass(frozen=True, slots=True)
class CallPreview:
    """The effect of a call that is not made."""

    tool: Tool
    account: str
    """The name of the account that would act; empty if none is needed."""
    request: Mapping[str, Any] | None
    """The first request that changes something; of a tool that reads its first one; None where there is none."""
    now: Mapping[str, Any] | None
    """The target as its read shows it; None where it has none."""
    difference: Mapping[str, Mapping[str, Any]]
    """The fields that it writes: `{field: {now, then}}`."""
    problem: str
    """Why it cannot be undone; empty where it can."""
    calls: tuple[Mapping[str, Any], ...] = ()
    """The calls that would undo it, as far as they are known before it happens."""
    tells: Mapping[str, Any] = field(default_factory=dict)
    """The people that the service would tell of it, by kind."""
    policy: str = ""
    """The verdict of the organization's policies, such as `ask: no-mail-outside`; empty if it has none."""

    def as_dict(self) -> dict[str, Any]:
        """Return the preview as people and models read it."""
        undo = {"possible": False, "reason": self.problem} if self.problem else {"possible": True, "by": self.calls}
        writes = {} if self.tool.reads else {"now": self.now, "difference": self.difference, "undo": undo}
        more = {"tells": self.tells, "costs": self.tool.costs, "policy": self.policy}
        return {
            "dry_run": True,
            "tool": f"{self.tool.module}.{self.tool.name}",
            "effect": self.tool.effect,
            "account": self.account,
            "request": self.request,
            **writes,
            **{name: value for name, value in more.items() if value},
        }


class _Reached(BaseException):  # no tool may catch it as an error of the request
    """The request has come at which a rehearsal ends."""

    def __init__(self, call: Call) -> None:
        super().__init__()
        self.call = call


class _Rehearsal(ToolRun):
    """A run that ends before the first request that changes something; of a tool that reads, before any."""

    def request(self, call: Call, account: Account | None = None) -> ServiceResponse:
        """Return the response to a read that comes before a change."""
        if call.method != "GET" or self.tool.reads:
            raise _Reached(call)
        return super().request(call, account)


def preview(permissions: Permissions, use: ToolUse, seconds: float) -> CallPreview:
    """Return the effect that a use would have; it is refused as the use itself would be before anything is sent."""
    (admitted, verdict), row = weigh(permissions, use), _row(use)
    try:
        found = _preview(admitted, row, time.monotonic() + seconds)
        row["outcome"] = PREVIEWED
    except McpistError as error:
        row["outcome"] = error.code
        raise
    finally:
        with audit.of_use():
            audit.record_use(admitted.caller, admitted.tool.module, admitted.tool.name, **row)
    return replace(found, policy=verdict.text if verdict else "")


def _row(use: ToolUse) -> "AuditColumns":
    return {"outcome": "", "request": use.request, "batch": use.batch}


def _preview(admitted: AdmittedUse, row: "AuditColumns", deadline: float) -> CallPreview:
    caller, tool, use = admitted.caller, admitted.tool, admitted.use
    arguments = load_arguments(caller, tool.input_schema, use.arguments)
    checked, targets = tool.validate(arguments), OtherReadingTools(admitted.permissions, use)
    who = acting_caller(caller, tool)
    running = _Rehearsal(who, admitted.module, tool, row, deadline, use.options, targets, arguments)
    running.resolve_account()
    request = _request(running, tool.describe_work(checked))
    change = read_before(tool, checked, targets)
    problem, calls = _undo(tool, change)
    now = target_now(tool, change, targets)
    tells = told_by(tool, change)
    return CallPreview(tool, running.account.name, request, now, difference(tool, change), problem, calls, tells)


def _undo(tool: Tool, change: ToolChange) -> tuple[str, tuple[Mapping[str, Any], ...]]:
    """Return why a change cannot be undone, or the calls that would undo it; those of something new need its id."""
    if tool.undo is None or tool.undo.creates:
        return describe(tool), ()
    try:
        calls = tuple(tool.undo.calls(change))
    except NotUndoable as error:
        return str(error.details["problem"]), ()
    return "", tuple({"tool": f"{tool.module}.{call.tool}", "params": dict(call.arguments)} for call in calls)


def _request(running: _Rehearsal, work: Work) -> Mapping[str, Any] | None:
    """Return the first request that would change something; the reads before it are made."""
    if isinstance(work, ProxiedCall):
        return {"server": work.server, "tool": work.tool, "arguments": dict(work.arguments)}
    if isinstance(work, Lookup):
        return None
    try:
        running.produce(work)
    except _Reached as reached:
        return _shown(running, reached.call)
    return None


def _shown(running: ToolRun, call: Call) -> Mapping[str, Any]:
    """Return a request as a person reads it: no header and no token is in it, and of bytes their number."""
    shown: dict[str, Any] = {"method": call.method, "url": running.account.url(call)}
    size = {"bytes": len(call.content.content), "content_type": call.content.content_type} if call.content else None
    parts = sorted(call.multipart) if call.multipart else None
    body = call.json if call.json is not None else call.form or size or parts
    return shown | ({"query": dict(call.query)} if call.query else {}) | ({} if body is None else {"body": body})
