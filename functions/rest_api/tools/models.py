"""The bodies of the requests and responses about tools."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from mcpist.caller import ACCOUNT_PATTERN, AnswerFormat
from mcpist.tools.declare.module import ModuleKind
from mcpist.tools.declare.parameters import Parameter
from mcpist.tools.declare.tool import Effect, Example
from rest_api.router import Body, RequestBody, RequestId

MAX_PAGE_SIZE = 100

ToolName = Annotated[
    str,
    Field(max_length=200, description="The REST name, as module-tool-name, or the full one: module.tool_name"),
]


class ToolSummary(Body):
    """A tool as it is listed."""

    name: Annotated[str, Field(pattern="^[a-z][a-z0-9-]*$", max_length=64)]
    full_name: str
    module: str
    source: ModuleKind
    description: str
    effect: Effect
    version: str
    enabled: bool
    registered_at: str
    tags: list[str]
    category: str
    author: str
    dependencies: Annotated[list[str], Field(description="The services whose accounts the tool needs")]
    connected: Annotated[bool | None, Field(description="Whether its account works; null if it needs none")] = None
    connect_url: Annotated[str | None, Field(description="Where a person connects the account")] = None


class ToolWithParameters(ToolSummary):
    """A tool as a list of tools has it."""

    parameters: list[Parameter]


class ToolDetail(ToolWithParameters):
    """A tool with all that a caller needs."""

    input_schema: dict[str, Any]
    output_fields: list[str]
    examples: list[Example]


class Pagination(Body):
    """The place of a page among all; the totals are those of what the caller may see."""

    page: Annotated[int, Field(ge=1)]
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE_SIZE)]
    total: Annotated[int, Field(ge=0)]
    total_pages: Annotated[int, Field(ge=0)]


class ToolList(Body):
    """A page of tools; with `format` the tools are definitions of that platform."""

    tools: list[ToolWithParameters] | list[dict[str, Any]]
    pagination: Pagination


class SearchFilters(RequestBody):
    """The filters of a search."""

    category: str = ""
    tags: Annotated[list[str], Field(max_length=20)] = []
    effect: Effect | None = None


def _require_words(schema: dict[str, Any]) -> None:
    """Let a field's schema say that an empty text is refused."""
    del schema["default"]
    schema["pattern"] = r"\S"


class SearchRequest(RequestBody):
    """A search for tools by a task in words."""

    model_config = ConfigDict(json_schema_extra={"required": ["query"]})

    # A search without one has an error of its own, which says so.
    query: Annotated[str, Field(max_length=1_000, json_schema_extra=_require_words)] = ""
    filters: SearchFilters = SearchFilters()
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE_SIZE)] = 20


class SearchHit(ToolSummary):
    """A tool that fits a task."""

    score: Annotated[float, Field(ge=0, le=1)]
    signature: str


class SearchResponse(Body):
    """The tools that fit a task, best first."""

    query: str
    results: list[SearchHit]
    total: int


class CallOptions(RequestBody):
    """Times of one call, in milliseconds, and how often a request that is safe to repeat is sent again."""

    timeout: Annotated[int, Field(ge=1_000, le=30_000)] = 30_000
    retry: Annotated[int, Field(ge=0, le=3)] = 0
    retry_delay: Annotated[int, Field(ge=0, le=10_000)] = 1_000
    as_file: Annotated[bool, Field(description="Answer with a file that holds the result")] = False
    account: Annotated[
        str, Field(pattern=ACCOUNT_PATTERN, description="The label of one of several accounts; empty: the default")
    ] = ""
    undoable: Annotated[bool, Field(description="Keep what undoes it, or refuse what nothing undoes")] = False
    format: Annotated[
        AnswerFormat | None, Field(description="Answer with the text that a model reads at /mcp, in this form")
    ] = None


class CallRequest(RequestBody):
    """A call of one tool."""

    name: ToolName
    parameters: dict[str, Any] = {}
    options: CallOptions = CallOptions()
    dry_run: Annotated[bool, Field(description="Only show what it would change, as `result`")] = False
    confirmation: Annotated[
        str, Field(max_length=100, description="The id of the question that the person has agreed to")
    ] = ""


class CallResponse(Body):
    """The result of a call."""

    success: Annotated[bool, Field(json_schema_extra={"const": True})] = True
    result: Annotated[Any, Field(description="The service's JSON; with a `format` a text")] = None
    file: Annotated[
        dict[str, Any] | None,
        Field(description="The file that holds the result, if it was asked for or nests too deeply"),
    ] = None
    more: Annotated[str, Field(description="How to read the rest of a list that was cut; empty if nothing was")] = ""
    account: Annotated[str, Field(description="The account that acted; empty if none was needed")] = ""
    batch: Annotated[str, Field(description="The batch as which a saved batch ran; without a result it still runs")] = (
        ""
    )
    execution_time: Annotated[int, Field(ge=0, description="Milliseconds")]
    timestamp: str
    request_id: RequestId
