"""`mcpist schema`, `mcpist modules` and `mcpist call`: the meta-tools of an endpoint."""

from dataclasses import replace
from typing import Annotated, Any

from typer import Argument, Option

from infra.cli.completion import module_names, tool_names
from infra.cli.document import CommandError, CommandResult
from infra.cli.endpoint import Endpoint
from infra.cli.inputs import json_of
from infra.cli.options import Token, Url
from infra.cli.schema_view import draw_schema
from infra.cli.tool_arguments import typed_arguments


def schema(
    modules: Annotated[
        list[str] | None,
        Argument(metavar="MODULE", help="[default: a list of all modules]", autocompletion=module_names),
    ] = None,
    tool: Annotated[list[str] | None, Option(metavar="TOOL", help="Show this tool's full schema.")] = None,
    query: Annotated[str, Option(metavar="TASK", help="Find tools for a task.")] = "",
    full: Annotated[bool, Option("--full", help="Show full schemas.")] = False,
    url: Url = None,
    token: Token = None,
) -> CommandResult:
    """Show what modules offer; without a module, list them."""
    arguments = {"modules": modules or [], "tools": tool or [], "query": query, "full": full}
    return _drawn(Endpoint.from_options(url, token).call("get_module_schema", arguments))


def list_modules(url: Url = None, token: Token = None) -> CommandResult:
    """List the modules that you may use."""
    return _drawn(Endpoint.from_options(url, token).call("get_module_schema", {}))


def call(
    module: Annotated[str, Argument(metavar="MODULE", autocompletion=module_names)],
    tool: Annotated[str, Argument(metavar="TOOL", autocompletion=tool_names)],
    arguments: Annotated[
        list[str] | None, Argument(metavar="[NAME=VALUE]...", help="The tool's arguments, such as limit=3.")
    ] = None,
    params: Annotated[str, Option(metavar="JSON", help="The tool's arguments as one JSON object.")] = "{}",
    raw: Annotated[bool, Option("--raw", help="Show the service's own JSON.")] = False,
    confirm: Annotated[bool, Option("--confirm", help="Run a tool that destroys without a question.")] = False,
    url: Url = None,
    token: Token = None,
) -> CommandResult:
    """Run one tool, e.g. `mcpist call rag search_docs query=broker limit=3`."""
    given = json_of(params)
    if not isinstance(given, dict):
        raise CommandError("VALIDATION_ERROR", "--params is no JSON object.", "Write --params '{\"limit\": 3}'.")
    endpoint = Endpoint.from_options(url, token)
    with endpoint.connected():
        if arguments:
            given |= typed_arguments(arguments, _input_schema(endpoint, module, tool))
        request = {"module": module, "tool": tool, "params": given, "raw_output": raw}
        return endpoint.call("call", request | ({"confirm": True} if confirm else {}))


def _drawn(answer: CommandResult) -> CommandResult:
    return replace(answer, drawing=draw_schema(answer.texts[0]))


def _input_schema(endpoint: Endpoint, module: str, tool: str) -> dict[str, Any]:
    """Return the schema of a tool's arguments."""
    answer = endpoint.call("get_module_schema", {"modules": [module], "tools": [tool]}).texts[0]
    shown = (one for found in answer["modules"] for one in found["tools"] if isinstance(one, dict))
    return next((dict(one["inputSchema"]) for one in shown), {})
