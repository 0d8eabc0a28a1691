"""The methods for resources, prompts, completions and tasks."""

from mcp_types import (
    CompleteRequestParams,
    CompleteResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
)

from mcp_endpoint import prompts, resource_pages, resources
from mcp_endpoint.exchange import exchange_of, wants_separate_blocks
from mcp_endpoint.protocol.errors import protocol_errors
from mcp_endpoint.tasks import Context, Task, TaskParams, UpdateParams
from mcpist.tools.permissions import Permissions
from mcpist_services.catalogue import CATALOGUE


async def get_task(context: Context, params: TaskParams) -> Task:
    """Return a batch as a task."""
    from mcp_endpoint.batches import batch

    with protocol_errors(context):
        separate = wants_separate_blocks(context)
        return batch.task(exchange_of(context).caller, _permissions(context), params.task_id, separate=separate)


async def update_task(context: Context, params: UpdateParams) -> None:
    """Accept and ignore answers: a batch asks its questions before it starts, so none is pending."""
    from mcpist.batch.execution import submission

    with protocol_errors(context):
        submission.find_own(exchange_of(context).caller, params.task_id)


async def cancel_task(context: Context, params: TaskParams) -> None:
    """Cancel a batch."""
    from mcpist.batch.execution import submission

    with protocol_errors(context):
        submission.cancel(exchange_of(context).caller, params.task_id)


async def list_resources(context: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
    """List the resources with fixed addresses, and those that a tool lists, by pages."""
    with protocol_errors(context):
        cursor = (params and params.cursor) or ""
        return resource_pages.page(exchange_of(context), _permissions(context), cursor)


async def list_resource_templates(context: Context, _: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
    """List the resources whose addresses have variables."""
    with protocol_errors(context):
        return ListResourceTemplatesResult(resource_templates=resources.list_templates(_permissions(context)))


async def read_resource(context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
    """Read a resource."""
    with protocol_errors(context, uri=params.uri):
        return resources.read(exchange_of(context), _permissions(context), params.uri)


async def list_prompts(context: Context, _: PaginatedRequestParams | None) -> ListPromptsResult:
    """List the prompts."""
    with protocol_errors(context):
        return ListPromptsResult(prompts=prompts.list_prompts(_permissions(context)))


async def get_prompt(context: Context, params: GetPromptRequestParams) -> GetPromptResult:
    """Return a prompt with its arguments filled in."""
    with protocol_errors(context):
        return prompts.get(exchange_of(context), _permissions(context), params.name, params.arguments or {})


async def complete(context: Context, params: CompleteRequestParams) -> CompleteResult:
    """Complete the value of an argument."""
    arguments = (params.context and params.context.arguments) or {}
    argument, exchange = params.argument, exchange_of(context)
    with protocol_errors(context):
        completion = prompts.complete(
            exchange, _permissions(context), params.ref, argument.name, argument.value, arguments
        )
    return CompleteResult(completion=completion)


def _permissions(context: Context) -> Permissions:
    return Permissions(exchange_of(context).caller, CATALOGUE)
