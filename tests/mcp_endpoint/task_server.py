"""A server with the tools that the conformance suite needs; the endpoint's code serves its tasks."""

import secrets
import time
from dataclasses import dataclass, field
from typing import Any

from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, CallToolRequestParams, ListToolsResult, Tool

from mcp_endpoint import tasks
from mcp_endpoint.tasks import Context, Status, Task, TaskParams, UpdateParams

PACE = 0.05  # what a second of the suite's jobs takes here
TOOLS = (
    "greet",
    "slow_compute",
    "failing_job",
    "protocol_error_job",
    "confirm_delete",
    "multi_input",
    "test_tool_with_task",
)


@dataclass
class Job:
    """Work that ends after some time, once its questions are answered."""

    seconds: float
    outcome: dict[str, Any]
    questions: dict[str, Any] = field(default_factory=dict)
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    began: float = field(default_factory=time.time)
    cancelled: bool = False

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


def text(says: str, *, is_error: bool = False) -> dict[str, Any]:
    return {"resultType": "complete", "content": [{"type": "text", "text": says}], "isError": is_error}


def question(field: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {field: {"type": "string"}}}
    params = {"mode": "form", "message": f"Your {field}?", "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


class TaskServer:
    """The tools, and the jobs that they started."""

    def __init__(self) -> None:
        self.jobs: dict[str, Job] = {}
        self.server: Server[Any] = Server("conformance", on_list_tools=self.list_tools, on_call_tool=self.call_tool)
        tasks.install(self.server, get=self.get, update=self.update, cancel=self.cancel)

    async def list_tools(self, _: Context, __: Any) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name=name, input_schema={"type": "object"}) for name in TOOLS])

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> Any:
        given = params.arguments or {}
        match params.name:
            case "greet":
                return text(f"Hello, {given['name']}!")
            case "slow_compute":
                job = Job(given["seconds"], {"result": text(given["label"])})
                return self.begin(job) if tasks.supported(context) else text(given["label"])
            case "failing_job":
                return self.required(context, Job(1, {"result": text("it failed", is_error=True)}))
            case "protocol_error_job":
                error = {"code": INTERNAL_ERROR, "message": "it broke"}
                return self.required(context, Job(0, {"error": error}))
            case "confirm_delete":
                return self.required(context, Job(0, {"result": text("deleted")}, {"confirm": question("confirm")}))
            case "multi_input":
                questions = {name: question(name) for name in ("first", "second")}
                return self.required(context, Job(0, {"result": text("both")}, questions))
            case "test_tool_with_task":
                return self.with_name(context, params)
        raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}")

    def with_name(self, context: Context, params: CallToolRequestParams) -> dict[str, Any]:
        """Ask a question before creating a task."""
        reply = (params.input_responses or {}).get("user_name")
        if reply is None:
            return {"resultType": "input_required", "inputRequests": {"user_name": question("name")}}
        given = getattr(reply, "content", None) or {}
        return self.required(context, Job(1, {"result": text(f"Hello, {given['name']}!")}))

    def required(self, context: Context, job: Job) -> dict[str, Any]:
        tasks.require_support(context)
        return self.begin(job)

    def begin(self, job: Job) -> dict[str, Any]:
        self.jobs[job.id] = job
        return job.task().as_create_task_result()

    async def get(self, _: Context, params: TaskParams) -> Task:
        return self.job(params).task()

    async def update(self, _: Context, params: UpdateParams) -> None:
        job = self.job(params)
        job.questions = {key: asked for key, asked in job.questions.items() if key not in params.input_responses}

    async def cancel(self, _: Context, params: TaskParams) -> None:
        job = self.job(params)
        job.cancelled = job.status in {"working", "input_required"}

    def job(self, params: TaskParams) -> Job:
        if params.task_id not in self.jobs:
            raise MCPError(INVALID_PARAMS, "Task not found")
        return self.jobs[params.task_id]
