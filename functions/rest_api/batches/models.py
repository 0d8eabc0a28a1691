"""The bodies of the requests and responses about batches."""

from typing import Annotated, Any, Literal

from pydantic import Field

from mcpist.batch import DEFAULT_BATCH_TIMEOUT_SECONDS, MAX_BATCH_TIMEOUT_SECONDS, MIN_BATCH_TIMEOUT_SECONDS
from mcpist.batch.execution.submission import MAX_BATCH_WAIT_SECONDS
from mcpist.tools.declare.tool import Effect
from rest_api.model import Body, RequestBody

TimeoutSeconds = Annotated[
    int,
    Field(
        ge=MIN_BATCH_TIMEOUT_SECONDS,
        le=MAX_BATCH_TIMEOUT_SECONDS,
        description="Seconds for the whole batch: after them no step begins",
    ),
]
WaitSeconds = Annotated[
    float, Field(ge=0, le=MAX_BATCH_WAIT_SECONDS, description="Seconds to wait for the end before the answer")
]
BatchState = Literal["running", "done", "cancelling", "cancelled"]


class BatchRequest(RequestBody):
    """A new batch: its steps as JSON Lines or as a list of objects."""

    commands: str | list[dict[str, Any]]
    dry_run: Annotated[bool, Field(description="Only check the batch and show its plan")] = False
    timeout: TimeoutSeconds = DEFAULT_BATCH_TIMEOUT_SECONDS
    wait: WaitSeconds = 0


class ResumeRequest(RequestBody):
    """The steps that a resumption repeats."""

    again: Annotated[list[str], Field(max_length=1_000, description="Steps that may have written, to repeat")] = []
    timeout: TimeoutSeconds = DEFAULT_BATCH_TIMEOUT_SECONDS
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


class BatchView(Body):
    """A batch: its state, its steps and their results; the times of the steps are its timeline."""

    id: str
    state: BatchState
    done: bool
    form: str
    resumes: str
    started_at: str
    closes_at: str
    expires_at: str
    settled: int
    total: int
    steps: list[StepView]


class BatchPlan(Body):
    """The plan of a batch that did not run: its steps, its machine, and what it destroys."""

    dry_run: Annotated[bool, Field(json_schema_extra={"const": True})] = True
    plan: dict[str, Any]
