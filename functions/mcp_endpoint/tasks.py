"""The protocol's Tasks extension: a task's shape, and the three methods by which a client follows one.

Of tasks the SDK knows only older shapes. This file knows nothing of batches: whoever has tasks gives `install` three
handlers, and answers a tool's call with `Task.as_create_task_result()`.

Source: https://modelcontextprotocol.io/seps/2663-tasks-extension
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, cast

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp_types import HEADER_MISMATCH, METHOD_NOT_FOUND, MISSING_REQUIRED_CLIENT_CAPABILITY, RequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request

EXTENSION = "io.modelcontextprotocol/tasks"

type Context = ServerRequestContext[Any, Any]
type Status = Literal["working", "input_required", "completed", "cancelled", "failed"]


@dataclass(frozen=True, slots=True)
class Task:
    """A task as its client sees it; times are seconds since the epoch.

    `outcome` is what its status brings along: `result` of a completed one, `error` of a failed one, `inputRequests`
    of one that waits for input.
    """

    id: str
    status: Status
    message: str
    created_at: float
    updated_at: float
    ttl_seconds: float
    poll_interval_seconds: float
    outcome: Mapping[str, Any] = field(default_factory=dict)

    def as_create_task_result(self) -> dict[str, Any]:
        """The answer to the request that this task stands for now."""
        return {"resultType": "task", **self._fields()}

    def as_detailed_task(self) -> dict[str, Any]:
        """The answer to `tasks/get`."""
        return {"resultType": "complete", **self._fields(), **self.outcome}

    def _fields(self) -> dict[str, Any]:
        return {
            "taskId": self.id,
            "status": self.status,
            "statusMessage": self.message,
            "createdAt": _iso_time(self.created_at),
            "lastUpdatedAt": _iso_time(self.updated_at),
            "ttlMs": round(self.ttl_seconds * 1000),
            "pollIntervalMs": round(self.poll_interval_seconds * 1000),
        }


class TaskParams(RequestParams):
    """The params of `tasks/get` and `tasks/cancel`."""

    task_id: str


class UpdateParams(TaskParams):
    """The params of `tasks/update`; answers to questions that nobody asked are passed over."""

    input_responses: dict[str, Any] = {}


type Handler[Params, Result] = Callable[[Context, Params], Awaitable[Result]]


def install(
    server: Server[Any],
    *,
    get: Handler[TaskParams, Task],
    update: Handler[UpdateParams, None],
    cancel: Handler[TaskParams, None],
) -> None:
    """Announce the extension and serve its methods; a handler raises MCPError for a task that it does not know."""

    async def answer_get(context: Context, params: TaskParams) -> dict[str, Any]:
        _check(context, params)
        return (await get(context, params)).as_detailed_task()

    async def answer_update(context: Context, params: UpdateParams) -> dict[str, Any]:
        _check(context, params)
        await update(context, params)
        return {"resultType": "complete"}

    async def answer_cancel(context: Context, params: TaskParams) -> dict[str, Any]:
        _check(context, params)
        await cancel(context, params)
        return {"resultType": "complete"}

    server.extensions[EXTENSION] = {}
    server.add_request_handler("tasks/get", TaskParams, answer_get)
    server.add_request_handler("tasks/update", UpdateParams, answer_update)
    server.add_request_handler("tasks/cancel", TaskParams, answer_cancel)


def supported(context: Context) -> bool:
    """Whether the request's client takes tasks; nobody else may be given one."""
    can = context.session.client_capabilities
    modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
    return modern and can is not None and EXTENSION in (can.extensions or {})


def require_support(context: Context) -> None:
    """Refuse a client that does not take tasks, with the words that tell it what to declare."""
    if not supported(context):
        needed: dict[str, Any] = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "Missing required client capability", needed)


def _check(context: Context, params: TaskParams) -> None:
    """Refuse what the extension refuses on every one of its methods."""
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        raise MCPError(METHOD_NOT_FOUND, "Method not found", context.method)
    named = decode_header_value(cast("Request", context.request).headers.get(MCP_NAME_HEADER))
    if named != params.task_id:
        raise MCPError(
            HEADER_MISMATCH, f"{MCP_NAME_HEADER} header does not match the request body's 'taskId' parameter"
        )
    require_support(context)


def _iso_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
