"""The protocol's Tasks extension: the fields of a task, and the three methods by which a client follows one.

The SDK has only an older form of tasks. This file does not depend on batches: `install` takes the three handlers, and a
tool call is answered with `Task.as_create_task_result()`.

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
from mcp_types import (
    HEADER_MISMATCH,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    ClientCapabilities,
    RequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request

EXTENSION = "io.modelcontextprotocol/tasks"

type Context = ServerRequestContext[Any, Any]
type Status = Literal["working", "input_required", "completed", "cancelled", "failed"]


@dataclass(frozen=True, slots=True)
class Task:
    """A task as its client sees it."""

    id: str
    status: Status
    message: str
    """A text for people about the status."""
    created_at: float
    """In seconds since the epoch."""
    updated_at: float
    """In seconds since the epoch."""
    ttl_seconds: float
    """For how long after its creation the task can be read."""
    poll_interval_seconds: float
    """How long the client should wait between two requests."""
    outcome: Mapping[str, Any] = field(default_factory=dict)
    """Fields that belong to the status: `result` if completed, `error` if failed, `inputRequests` if it needs input."""

    def as_create_task_result(self) -> dict[str, Any]:
        """Return the task as the response to the request that created it."""
        return {"resultType": "task", **self._fields()}

    def as_detailed_task(self) -> dict[str, Any]:
        """Return the task as the response to `tasks/get`."""
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
    """The params of `tasks/update`; answers to unknown questions are ignored."""

    input_responses: dict[str, Any] = {}


type Handler[Params, Result] = Callable[[Context, Params], Awaitable[Result]]


def install(
    server: Server[Any],
    *,
    get: Handler[TaskParams, Task],
    update: Handler[UpdateParams, None],
    cancel: Handler[TaskParams, None],
) -> None:
    """Declare the extension and serve its methods; a handler raises MCPError for an unknown task."""

    def checked(handler: Handler[Any, Task | None]) -> Handler[Any, dict[str, Any]]:
        async def answer(context: Context, params: TaskParams) -> dict[str, Any]:
            _check(context, params)
            task = await handler(context, params)
            return task.as_detailed_task() if task else {"resultType": "complete"}

        return answer

    server.extensions[EXTENSION] = {}
    server.add_request_handler("tasks/get", TaskParams, checked(get))
    server.add_request_handler("tasks/update", UpdateParams, checked(update))
    server.add_request_handler("tasks/cancel", TaskParams, checked(cancel))


def supported_by(version: str, can: ClientCapabilities | None) -> bool:
    """Return whether a client of this protocol version with these capabilities accepts tasks."""
    return version in MODERN_PROTOCOL_VERSIONS and can is not None and EXTENSION in (can.extensions or {})


def require_support(context: Context) -> None:
    """Refuse a client that does not accept tasks, and name the capability to declare."""
    if not supported_by(context.protocol_version, context.session.client_capabilities):
        required: dict[str, Any] = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "Missing required client capability", required)


def _check(context: Context, params: TaskParams) -> None:
    """Refuse requests that the extension wants refused by each of its methods."""
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        raise MCPError(METHOD_NOT_FOUND, "Method not found", context.method)
    task_id = decode_header_value(cast("Request", context.request).headers.get(MCP_NAME_HEADER))
    if task_id != params.task_id:
        raise MCPError(
            HEADER_MISMATCH, f"{MCP_NAME_HEADER} header does not match the request body's 'taskId' parameter"
        )
    require_support(context)


def _iso_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
