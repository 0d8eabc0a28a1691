"""`mcpist`: its commands, each imported only when it runs."""

import argparse
import sys
from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any, NoReturn

from infra.cli.arguments import parser
from infra.cli.document import CommandError, CommandResult, Document
from infra.cli.inputs import json_of, text_of
from mcpist.errors import McpistError

INTERRUPTED_EXIT_CODE = 130

# Those that need nothing but their options.
COMMANDS = {
    "audit": "infra.cli.audit:show_audit",
    "batch": "infra.cli.batch:batch",
    "doctor": "infra.cli.doctor.command:run_doctor",
    "grant": "infra.cli.grant:manage_grants",
    "machine": "infra.cli.machines:list_machines",
    "org": "infra.cli.organizations:org",
    "role": "infra.cli.roles:role",
    "timeline": "infra.cli.timeline:timeline",
    "upstream": "infra.cli.upstream:upstream",
    "user": "infra.cli.users:user",
}


def main() -> NoReturn:
    """Run the command of the process's arguments and exit with its code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command; 0 when it succeeded."""
    document = Document(next((word for word in arguments if not word.startswith("-")), ""))
    try:
        options = parser().parse_args(arguments)
        document = Document(options.command, options.locale, started=document.started)
        return document.succeed(_command(options, document))
    except (McpistError, CommandError) as error:
        return document.fail(error)
    except KeyboardInterrupt:
        return INTERRUPTED_EXIT_CODE


def _command(options: argparse.Namespace, document: Document) -> CommandResult:
    match options.command:
        case "up":
            from infra.cli.up import up

            return up(options, document)
        case "plan":
            from infra.cli.plan import plan_batch

            return plan_batch(text_of(options.file))
        case "schema" | "call":
            from infra.cli.endpoint import Endpoint

            return Endpoint.from_options(options.url, options.token).call(*_request(options))
        case name:
            perform: Callable[[argparse.Namespace], CommandResult] = resolve_name(COMMANDS[name])
            return perform(options)


def _request(options: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """The meta-tool that a command stands for, and its arguments."""
    if options.command == "schema":
        asked = {"modules": options.modules, "tools": options.tool, "query": options.query, "full": options.full}
        return "get_module_schema", asked
    params = json_of(options.params)
    return "call", {"module": options.module, "tool": options.tool, "params": params, "raw_output": options.raw}


if __name__ == "__main__":
    main()
