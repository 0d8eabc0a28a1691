"""The command line's grammar: commands, their arguments and what each means."""

import argparse
from pathlib import Path
from typing import NoReturn

from infra.cli import directory_arguments
from infra.cli.document import CommandError

TEXT_FILE = "JSONL; - is standard input"
UPSTREAMS_DEFAULT = "(default: the last up's, or layers/config/upstreams.json)"


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are typed like all others."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing and exiting."""
        raise CommandError({"code": "VALIDATION_ERROR", "message": message, "hint": self.format_usage().strip()})


def parser() -> Parser:
    """The parser of all commands."""
    whole = Parser(prog="mcpist", description="MCPist on the command line; every command prints one JSON document.")
    whole.add_argument("--locale", choices=["en", "ja"], default="en", help="language of errors")
    commands = whole.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _up(commands.add_parser("up", help="run everything on this machine until Ctrl-C"))
    _schema(commands.add_parser("schema", help="what modules offer"))
    _call(commands.add_parser("call", help="run one tool"))
    _batch(commands.add_parser("batch", help="run a batch, fetch one, or watch one"))
    _plan(commands.add_parser("plan", help="check a batch and show its machine, without a server"))
    _timeline(commands.add_parser("timeline", help="who waited for what in a batch"))
    _machine(commands.add_parser("machine", help="the machines that batches run on"))
    directory_arguments.org(commands.add_parser("org", help="organizations: tools switched off, export, import"))
    directory_arguments.user(commands.add_parser("user", help="the users of an organization"))
    directory_arguments.role(commands.add_parser("role", help="the roles of an organization, and what they see"))
    _grant(commands.add_parser("grant", help="the accounts that are connected"))
    _audit(commands.add_parser("audit", help="who used which account for what"))
    _upstream(commands.add_parser("upstream", help="the MCP servers behind this one"))
    _doctor(commands.add_parser("doctor", help="whether a deployment is as it must be, and what to do where not"))
    return whole


def _up(up: argparse.ArgumentParser) -> None:
    up.add_argument("--port", type=int, default=3000)
    up.add_argument("--host", default="127.0.0.1")
    up.add_argument("--docs", type=Path, help="a folder of Markdown for the module rag (default: this repository's)")
    up.add_argument(
        "--upstreams",
        type=Path,
        metavar="FILE",
        help="MCP servers to put behind it (default: layers/config/upstreams.json)",
    )
    up.add_argument(
        "--allow-origin",
        action="append",
        default=[],
        metavar="URL",
        help="let web pages of this origin use the endpoint",
    )


def _schema(schema: argparse.ArgumentParser) -> None:
    schema.add_argument("modules", nargs="*", metavar="MODULE")
    schema.add_argument("--tool", action="append", default=[], help="give this tool's full schema")
    schema.add_argument("--query", default="", help="find tools for a task")
    schema.add_argument("--full", action="store_true", help="give full schemas")
    _endpoint(schema)


def _call(call: argparse.ArgumentParser) -> None:
    call.add_argument("module")
    call.add_argument("tool")
    call.add_argument("--params", default="{}", help="a JSON object")
    call.add_argument("--raw", action="store_true", help="the service's own JSON")
    _endpoint(call)


def _batch(batch: argparse.ArgumentParser) -> None:
    batch.add_argument("file", nargs="?", default="-", help=TEXT_FILE)
    batch.add_argument("--dry-run", action="store_true", help="check and show the plan")
    batch.add_argument("--watch", action="store_true", help="show each step while it runs")
    batch.add_argument("--timeout", type=int, metavar="SECONDS", help="end the batch after this time")
    batch.add_argument("--confirm", action="store_true", help="run steps that destroy without asking again")
    batch.add_argument("--id", default="", help="fetch this batch")
    batch.add_argument("--resume", default="", metavar="ID", help="run again what did not succeed in this batch")
    batch.add_argument(
        "--again", action="append", default=[], metavar="STEP", help="with --resume: run this unknown write again, too"
    )
    _endpoint(batch)


def _plan(plan: argparse.ArgumentParser) -> None:
    plan.add_argument("file", nargs="?", default="-", help=TEXT_FILE)


def _timeline(timeline: argparse.ArgumentParser) -> None:
    timeline.add_argument("batch_id", metavar="BATCH_ID")
    _endpoint(timeline)


def _machine(machine: argparse.ArgumentParser) -> None:
    actions = machine.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="the generated machines of a stack, the last used first")
    _stack(listing)


def _grant(grant: argparse.ArgumentParser) -> None:
    actions = grant.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="whose accounts are connected")
    _whose(listing)
    connecting = actions.add_parser("connect", help="where to connect an account, or connect a key that you made")
    connecting.add_argument("service", metavar="SERVICE")
    connecting.add_argument("--role", help="for everybody with this role, not for yourself")
    connecting.add_argument("--key", metavar="-", help="connect the key that stands on standard input")
    connecting.add_argument("--replace", action="store_true", help="with --key: also in the place of another account")
    connecting.add_argument("--open", action="store_true", help="open the page in a browser")
    revoking = actions.add_parser("revoke", help="take your account away, or a role's")
    revoking.add_argument("service", metavar="SERVICE")
    revoking.add_argument("--role", help="the role's account")
    killing = actions.add_parser("kill", help="take many away at once, with proof of each")
    _whose(killing)
    killing.add_argument("--everything", action="store_true", help="all of the organization")
    sealing = actions.add_parser("reencrypt", help="seal all of the organization anew under the present key")
    sealing.add_argument("--cursor", default="", help="go on behind this one")
    for action in (listing, connecting, revoking, killing, sealing):
        action.add_argument("--token", help="an access token of who does it (default: of the last `up`)")
        _organization(action)


def _whose(action: argparse.ArgumentParser) -> None:
    action.add_argument("--user", help="a user's own")
    action.add_argument("--role", help="a role's")
    action.add_argument("--service", help="those of this service's provider")


def _audit(audit: argparse.ArgumentParser) -> None:
    audit.add_argument("--user", default="", help="what this user did")
    audit.add_argument("--service", default="", help="what was done at this service")
    audit.add_argument("--since", default="7d", metavar="TIME", help="a day, a time, or so long ago: 12h (default: 7d)")
    audit.add_argument("--until", metavar="TIME", help="as --since (default: now)")
    audit.add_argument("--limit", type=int, default=100, help="rows of a page (default: 100)")
    audit.add_argument("--cursor", default="", help="the next page, as the one before says")
    _organization(audit)


def _organization(action: argparse.ArgumentParser) -> None:
    action.add_argument("--organization", help="default: of the last `up`")
    _stack(action)


def _upstream(upstream: argparse.ArgumentParser) -> None:
    actions = upstream.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="the servers and categories of a file")
    checking = actions.add_parser("check", help="whether a file is right, and whether its servers answer")
    tools = actions.add_parser("tools", help="the tools of all categories, and which of them wait for approval")
    approving = actions.add_parser("approve", help="let the endpoint show and run a server's tools as they are now")
    importing = actions.add_parser("import", help="propose a file from the servers of an MCP client's configuration")
    for reading in (listing, checking):
        reading.add_argument("file", nargs="?", type=Path, metavar="FILE", help=UPSTREAMS_DEFAULT)
    checking.add_argument("--deploy", action="store_true", help="ask no server, but whether Lambda could run them")
    tools.add_argument("name", nargs="?", metavar="NAME", help="only of this category or server")
    approving.add_argument("server", metavar="SERVER")
    approving.add_argument("tool", nargs="*", metavar="TOOL", help="only these (default: all but flagged ones)")
    for trusting in (tools, approving):
        trusting.add_argument("--upstreams", dest="file", type=Path, metavar="FILE", help=UPSTREAMS_DEFAULT)
    for reaching in (checking, tools, approving):
        _stack(reaching)
    importing.add_argument("client", type=Path, metavar="CLIENT_FILE", help="e.g. ~/.claude.json or .mcp.json")
    importing.add_argument("--output", type=Path, metavar="FILE", help="write the proposal to this new file")
    importing.add_argument("--stack", default="mcpist", help="the stack that may read the secrets (default: mcpist)")
    importing.add_argument("--offline", action="store_true", help="do not start the servers to see their tools")


def _doctor(doctor: argparse.ArgumentParser) -> None:
    doctor.add_argument(
        "--token", help="an administrator's access token, to ask the broker (default: of the last `up`)"
    )
    _organization(doctor)


def _stack(command: argparse.ArgumentParser) -> None:
    command.add_argument("--stack", help="a stack in AWS (default: the last `up`)")
    command.add_argument("--profile", help="the AWS profile to ask with")
    command.add_argument("--region", help="the stack's region (default: the profile's)")


def _endpoint(client: argparse.ArgumentParser) -> None:
    client.add_argument("--url", help="the endpoint's MCP URL (default: of the last `up`)")
    client.add_argument("--token", help="an access token (default: of the last `up`)")
