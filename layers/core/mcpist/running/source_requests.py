"""Requests of an event's source to its service: subscriptions and polls, with the account of its person.

Each is under the permission of a tool that reads, which its event type names, and has that tool's audit row.
"""

import time

from mcpist.running.gate import ToolUse, admit
from mcpist.running.run import ToolRun, audited
from mcpist.spending import spending
from mcpist.tools.access.permissions import Permissions, acting_caller
from mcpist.tools.declare.call import Call, ServiceResponse

MAX_REQUEST_SECONDS = 20.0


def send_source_request(permissions: Permissions, use: ToolUse, call: Call) -> ServiceResponse:
    """Return the response to a request for a source; where the use of the tool is refused, nothing was sent."""
    admitted = admit(permissions, use)
    caller, module, tool = admitted.caller, admitted.module, admitted.tool
    spending.add(caller.organization, "calls")
    with audited(caller, module.name, tool.name, request=use.request) as row:
        run = ToolRun(acting_caller(caller, tool), module, tool, row, time.monotonic() + MAX_REQUEST_SECONDS)
        return run.request(call)
