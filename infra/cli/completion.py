"""`mcpist completion`: the script by which a shell completes commands, options, modules and tools."""

from typing import Annotated, Literal

import typer
from typer._completion_shared import get_completion_script

from infra.cli.document import CommandError
from infra.cli.endpoint import Endpoint

Shell = Annotated[
    Literal["bash", "zsh", "fish"], typer.Argument(help="e.g. in ~/.bashrc: source <(mcpist completion bash)")
]


def completion(shell: Shell) -> int:
    """Print the script by which a shell completes this command."""
    # Here `shell` is the name of one.
    print(get_completion_script(prog_name="mcpist", complete_var="_MCPIST_COMPLETE", shell=shell))  # nosec B604
    return 0


def module_names(incomplete: str) -> list[str]:
    """Return the modules that a word can become; none where no endpoint answers."""
    return [name for name in _names({}, "module") if name.startswith(incomplete)]


def tool_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the tools of the module before the word."""
    module = ctx.params.get("module")
    found = _names({"modules": [module], "full": True}, "name") if module else []
    return [name for name in found if name.startswith(incomplete)]


def _names(arguments: dict[str, object], field: str) -> list[str]:
    try:
        modules = Endpoint.from_options(None, None).call("get_module_schema", arguments).texts[0]["modules"]
    except CommandError:
        return []
    entries = modules if field == "module" else modules[0].get("tools", [])
    return [str(one[field]) for one in entries]
