"""`mcpist`: its commands and their arguments."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, NoReturn

from infra.cli.document import Document, Done, Failed
from mcpist.errors import McpistError


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are typed like all others."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing and exiting."""
        raise Failed({"code": "VALIDATION_ERROR", "message": message, "hint": self.format_usage().strip()})


def main() -> NoReturn:
    """Run the command of the process's arguments and exit with its code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command; 0 when it succeeded."""
    document = Document(next((word for word in arguments if not word.startswith("-")), ""))
    try:
        options = _parser().parse_args(arguments)
        document = Document(options.command, options.locale, started=document.started)
        return document.succeed(_command(options, document))
    except (McpistError, Failed) as error:
        return document.fail(error)
    except KeyboardInterrupt:
        return 130


def _command(options: argparse.Namespace, document: Document) -> Done:
    match options.command:
        case "up":
            from infra.cli.up import up

            return up(options, document)
        case "plan":
            from infra.cli.plan import planned

            return planned(_text(options.file))
        case _:
            from infra.cli.endpoint import Endpoint

            return Endpoint.chosen(options.url, options.token).call(*_request(options))


def _request(options: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """The meta-tool that a command stands for, and its arguments."""
    match options.command:
        case "schema":
            asked = {"modules": options.modules, "tools": options.tool, "query": options.query, "full": options.full}
            return "get_module_schema", asked
        case "call":
            params = _json(options.params)
            called = {"module": options.module, "tool": options.tool, "params": params, "raw_output": options.raw}
            return "call", called
        case _:
            if options.id:
                return "batch", {"batch_id": options.id}
            return "batch", {"commands": _text(options.file), "dry_run": options.dry_run}


def _parser() -> Parser:
    parser = Parser(prog="mcpist", description="MCPist on the command line; every command prints one JSON document.")
    parser.add_argument("--locale", choices=["en", "ja"], default="en", help="language of errors")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    up = commands.add_parser("up", help="run everything on this machine until Ctrl-C")
    up.add_argument("--port", type=int, default=3000)
    up.add_argument("--host", default="127.0.0.1")
    up.add_argument("--docs", type=Path, help="a folder of Markdown for the module rag (default: this repository's)")

    schema = commands.add_parser("schema", help="what modules offer")
    schema.add_argument("modules", nargs="*", metavar="MODULE")
    schema.add_argument("--tool", action="append", default=[], help="give this tool's full schema")
    schema.add_argument("--query", default="", help="find tools for a task")
    schema.add_argument("--full", action="store_true", help="give full schemas")

    call = commands.add_parser("call", help="run one tool")
    call.add_argument("module")
    call.add_argument("tool")
    call.add_argument("--params", default="{}", help="a JSON object")
    call.add_argument("--raw", action="store_true", help="the service's own JSON")

    batch = commands.add_parser("batch", help="run a batch, or fetch one")
    batch.add_argument("file", nargs="?", default="-", help="JSONL; - is standard input")
    batch.add_argument("--dry-run", action="store_true", help="check and show the plan")
    batch.add_argument("--id", default="", help="fetch this batch")

    plan = commands.add_parser("plan", help="check a batch and show its machine, without a server")
    plan.add_argument("file", nargs="?", default="-", help="JSONL; - is standard input")

    for client in (schema, call, batch):
        client.add_argument("--url", help="the endpoint's MCP URL (default: of the last `up`)")
        client.add_argument("--token", help="an access token (default: of the last `up`)")
    return parser


def _text(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Failed({"code": "FILE_NOT_FOUND", "message": f"{file}: {error}", "hint": "Name a text file."}) from None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        hint = "Write a JSON object."
        raise Failed({"code": "VALIDATION_ERROR", "message": f"--params: {error}", "hint": hint}) from None


if __name__ == "__main__":
    main()
