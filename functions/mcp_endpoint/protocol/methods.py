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
from mcp_endpoint.exchange import Exchange, exchange_of
from mcp_endpoint.protocol.errors import protocol_errors
from mcp_endpoint.tasks import Context, Task, TaskParams, UpdateParams
from mcpist.tools.access.permissions import Permissions
from mcpist_services.catalogue import CATALOGUE


async def get_task(context: Context, params: TaskParams) -> Task:
    """Return a batch as a task."""
    from mcp_endpoint.batches import batch

    exchange = exchange_of(context)
    with protocol_errors(exchange):
        separate = exchange.client.separate_blocks
        return batch.task(exchange.caller, _permissions(exchange), params.task_id, separate=separate)


async def update_task(context: Context, params: UpdateParams) -> None:
    """Accept and ignore answers: a batch asks its questions before it starts, so none is pending."""
    from mcpist.batch.execution import submission

    exchange = exchange_of(context)
    with protocol_errors(exchange):
        submission.find_own(exchange.caller, params.task_id)


async def cancel_task(context: Context, params: TaskParams) -> None:
    """Cancel a batch."""
    from mcpist.batch.execution import submission

    exchange = exchange_of(context)
    with protocol_errors(exchange):
        submission.cancel(exchange.caller, params.task_id)


def list_resources(exchange: Exchange, params: PaginatedRequestParams | None) -> ListResourcesResult:
    """List the resources with fixed addresses, and those that a tool lists, by pages."""
    with protocol_errors(exchange):
        cursor = (params and params.cursor) or ""
        return resource_pages.page(exchange, _permissions(exchange), cursor)


def list_resource_templates(exchange: Exchange, _: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
    """List the resources whose addresses have variables."""
    with protocol_errors(exchange):
        return ListResourceTemplatesResult(resource_templates=resources.list_templates(_permissions(exchange)))


def read_resource(exchange: Exchange, params: ReadResourceRequestParams) -> ReadResourceResult:
    """Read a resource."""
    with protocol_errors(exchange, uri=params.uri):
        return resources.read(exchange, _permissions(exchange), params.uri)


def list_prompts(exchange: Exchange, _: PaginatedRequestParams | None) -> ListPromptsResult:
    """List the prompts."""
    with protocol_errors(exchange):
        return ListPromptsResult(prompts=prompts.list_prompts(_permissions(exchange)))


def get_prompt(exchange: Exchange, params: GetPromptRequestParams) -> GetPromptResult:
    """Return a prompt with its arguments filled in."""
    with protocol_errors(exchange):
        return prompts.get(exchange, _permissions(exchange), params.name, params.arguments or {})


def complete(exchange: Exchange, params: CompleteRequestParams) -> CompleteResult:
    """Complete the value of an argument."""
    arguments = (params.context and params.context.arguments) or {}
    argument = params.argument
    with protocol_errors(exchange):
        completion = prompts.complete(
            exchange, _permissions(exchange), params.ref, argument.name, argument.value, arguments
        )
    return CompleteResult(completion=completion)


def _permissions(exchange: Exchange) -> Permissions:
    return Permissions(exchange.caller, CATALOGUE)
