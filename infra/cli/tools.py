"""`mcpist schema` and `mcpist call`: the meta-tools of an endpoint."""

from typing import Annotated

from typer import Argument, Option

from infra.cli.document import CommandResult
from infra.cli.endpoint import Endpoint
from infra.cli.inputs import json_of
from infra.cli.options import Token, Url


def schema(
    modules: Annotated[list[str] | None, Argument(metavar="MODULE")] = None,
    tool: Annotated[list[str] | None, Option(metavar="TOOL", help="Show this tool's full schema.")] = None,
    query: Annotated[str, Option(metavar="TASK", help="Find tools for a task.")] = "",
    full: Annotated[bool, Option("--full", help="Show full schemas.")] = False,
    url: Url = None,
    token: Token = None,
) -> CommandResult:
    """Show what modules offer."""
    arguments = {"modules": modules or [], "tools": tool or [], "query": query, "full": full}
    return Endpoint.from_options(url, token).call("get_module_schema", arguments)


def call(
    module: Annotated[str, Argument(metavar="MODULE")],
    tool: Annotated[str, Argument(metavar="TOOL")],
    params: Annotated[str, Option(metavar="JSON", help="The tool's arguments, a JSON object.")] = "{}",
    raw: Annotated[bool, Option("--raw", help="Show the service's own JSON.")] = False,
    confirm: Annotated[bool, Option("--confirm", help="Run a tool that destroys without a question.")] = False,
    url: Url = None,
    token: Token = None,
) -> CommandResult:
    """Run one tool."""
    arguments = {"module": module, "tool": tool, "params": json_of(params), "raw_output": raw}
    arguments |= {"confirm": True} if confirm else {}
    return Endpoint.from_options(url, token).call("call", arguments)
