"""Preview of a call: the exact request, its target as it is now, the difference, and what undoes it.

Nothing is sent that changes anything. A tool that reads before it writes does its reads; the target costs one more.
"""

import time
from collections.abc import Mapping
from typing import Any

from mcpist.errors import NotUndoable
from mcpist.files.parameters import load_arguments
from mcpist.running.accounts import Account
from mcpist.running.gate import OtherReadingTools, ToolUse, weigh
from mcpist.running.run import ToolRun, audited
from mcpist.running.undoing import describe, difference, read_before, target_now, told_by
from mcpist.tools.access.permissions import Permissions, acting_caller
from mcpist.tools.declare.call import Call, Lookup, ProxiedCall, ServiceResponse, Work
from mcpist.tools.declare.tool import Tool
from mcpist.tools.declare.undo import ToolCall, ToolChange

PREVIEWED = "previewed"


class _Reached(BaseException):  # no tool may catch it as an error of the request
    """The request has come at which a rehearsal ends."""

    def __init__(self, call: Call) -> None:
        super().__init__()
        self.call = call


class _Rehearsal(ToolRun):
    """A run that ends before the first request that changes something; of a tool that reads, before any."""

    def finish(self, call: Call, account: Account | None) -> Any:  # noqa: ARG002 - it is not sent
        """Make no request: even a GET is what the tool is for, and may change something where the tool writes."""
        raise _Reached(call)

    def request(self, call: Call, account: Account | None = None) -> ServiceResponse:
        """Return the response to a read that comes before a change."""
        if call.method != "GET" or self.tool.reads:
            raise _Reached(call)
        return super().request(call, account)


def preview(permissions: Permissions, use: ToolUse, seconds: float) -> dict[str, Any]:
    """Return the effect that a use would have; it is refused as the use itself would be before anything is sent.

    That is `{dry_run, tool, effect, account, request}`: the name of the account that would act, and the first request
    that changes something, or of a tool that reads its first one. Of a tool that writes also its target as it is `now`,
    the `difference` by field, `{now, then}`, and `undo`: whether it is `possible`, and the calls or the reason. Where
    there are any, the people whom the service `tells` of it, what it `costs`, and the verdict of the `policy`.
    """
    admitted, verdict = weigh(permissions, use)
    caller, tool, deadline = admitted.caller, admitted.tool, time.monotonic() + seconds
    about = caller, tool.module, tool.name
    with audited(*about, request=use.request, batch=use.batch, outcome=PREVIEWED) as row:
        arguments = load_arguments(caller, tool.input_schema, use.arguments)
        checked, targets = tool.validate(arguments), OtherReadingTools(permissions, use)
        who = acting_caller(caller, tool)
        running = _Rehearsal(who, admitted.module, tool, row, deadline, use.options, targets, arguments)
        running.resolve_account()
        request = _request(running, tool.describe_work(checked))
        change = read_before(tool, checked, targets)
        now, undo = target_now(tool, change, targets), _undo(tool, change)
    writes = {} if tool.reads else {"now": now, "difference": difference(tool, change), "undo": undo}
    more = {"tells": told_by(tool, change), "costs": tool.costs, "policy": verdict.text if verdict else ""}
    return {
        "dry_run": True,
        "tool": f"{tool.module}.{tool.name}",
        "effect": tool.effect,
        "account": running.account.name,
        "request": request,
        **writes,
        **{name: value for name, value in more.items() if value},
    }


def _undo(tool: Tool, change: ToolChange) -> dict[str, Any]:
    """Return why a change cannot be undone, or the calls that would undo it; those of something new need its id."""
    problem, calls = describe(tool), tuple[ToolCall, ...]()
    if tool.undo and not tool.undo.creates:
        try:
            calls = tuple(tool.undo.calls(change))
        except NotUndoable as error:
            problem = str(error.details["problem"])
    if problem:
        return {"possible": False, "reason": problem}
    by = tuple({"tool": f"{tool.module}.{call.tool}", "params": dict(call.arguments)} for call in calls)
    return {"possible": True, "by": by}


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
