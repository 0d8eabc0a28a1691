"""The suite's jobs: MCP tasks that end after some time, once their questions are answered.

They are files, since each request may reach another sandbox.
"""

import json
import secrets
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from mcp.shared.exceptions import MCPError
from mcp_endpoint.suite.results import form, text
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, CallToolRequestParams

from mcp_endpoint import tasks
from mcp_endpoint.tasks import Context, Status, Task, TaskParams, UpdateParams

FOLDER = Path(__file__).parent / "jobs"
PACE = 0.05  # what a second of the suite's jobs takes here


@dataclass
class Job:
    """Work that ends after some time."""

    seconds: float
    outcome: dict[str, Any]
    questions: dict[str, Any] = field(default_factory=dict)
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    began: float = field(default_factory=time.time)
    cancelled: bool = False

    @classmethod
    def load(cls, params: TaskParams) -> Self:
        """Return the job of a task."""
        file = FOLDER / f"{params.task_id}.json"
        if not params.task_id.isalnum() or not file.exists():
            raise MCPError(INVALID_PARAMS, "Task not found")
        return cls(**json.loads(file.read_text()))

    def store(self) -> Self:
        """Keep the job for the next request."""
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / f"{self.id}.json").write_text(json.dumps(asdict(self)))
        return self

    @property
    def status(self) -> Status:
        """Return the status by the time and the open questions."""
        if self.cancelled:
            return "cancelled"
        if self.questions:
            return "input_required"
        if time.time() < self.began + self.seconds * PACE:
            return "working"
        return "failed" if "error" in self.outcome else "completed"

    def task(self) -> Task:
        """Return the job as a task."""
        outcomes = {"input_required": {"inputRequests": self.questions}, "working": {}, "cancelled": {}}
        return Task(
            id=self.id,
            status=self.status,
            message="as the suite asked",
            created_at=self.began,
            updated_at=self.began,
            ttl_seconds=60,
            poll_interval_seconds=0.1,
            outcome=outcomes.get(self.status, self.outcome),
        )


async def get(_: Context, params: TaskParams) -> Task:
    return Job.load(params).task()


async def update(_: Context, params: UpdateParams) -> None:
    job = Job.load(params)
    job.questions = {key: asked for key, asked in job.questions.items() if key not in params.input_responses}
    job.store()


async def cancel(_: Context, params: TaskParams) -> None:
    job = Job.load(params)
    job.cancelled = job.status in {"working", "input_required"}
    job.store()


def greet(_: Context, params: CallToolRequestParams) -> Any:
    return text(f"Hello, {(params.arguments or {})['name']}!")


def slow_compute(context: Context, params: CallToolRequestParams) -> Any:
    given = params.arguments or {}
    done = text(given["label"])
    return Job(given["seconds"], {"result": done}).store().task().as_create_task_result() if _may(context) else done


def failing_job(context: Context, _: CallToolRequestParams) -> Any:
    return _begin(context, Job(1, {"result": text("it failed", is_error=True)}))


def protocol_error_job(context: Context, _: CallToolRequestParams) -> Any:
    return _begin(context, Job(0, {"error": {"code": INTERNAL_ERROR, "message": "it broke"}}))


def confirm_delete(context: Context, _: CallToolRequestParams) -> Any:
    return _begin(context, Job(0, {"result": text("deleted")}, {"confirm": form("confirm")}))


def multi_input(context: Context, _: CallToolRequestParams) -> Any:
    return _begin(context, Job(0, {"result": text("both")}, {name: form(name) for name in ("first", "second")}))


def test_tool_with_task(context: Context, params: CallToolRequestParams) -> Any:
    """Ask a question before creating a task."""
    reply = (params.input_responses or {}).get("user_name")
    if reply is None:
        return {"resultType": "input_required", "inputRequests": {"user_name": form("name")}}
    given = getattr(reply, "content", None) or {}
    return _begin(context, Job(1, {"result": text(f"Hello, {given['name']}!")}))


def _begin(context: Context, job: Job) -> dict[str, Any]:
    tasks.require_support(context)
    return job.store().task().as_create_task_result()


def _may(context: Context) -> bool:
    return tasks.supported_by(context.protocol_version, context.session.client_capabilities)


TOOLS = (
    *(greet, slow_compute, failing_job, protocol_error_job, confirm_delete, multi_input),
    test_tool_with_task,
)
