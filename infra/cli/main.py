"""`mcpist`: its commands by name, each imported only when it runs."""

import os
import sys
from pkgutil import resolve_name
from typing import Annotated, Any, Literal, NoReturn

import typer
from typer.completion import get_completion_inspect_parameters
from typer.core import TyperCommand, TyperGroup

from infra.cli.document import LOCALE, CommandDocument, CommandError, CommandResult
from infra.cli.options import CHOSEN, command_group
from infra.cli.stacks import DEFAULT, choose_stack
from infra.source import IS_CHECKOUT
from mcpist.errors import McpistError
from mcpist.version import VERSION

# For each command the function or the Typer that declares it, and the line that `mcpist --help` shows.
COMMANDS = {
    "up": ("infra.cli.up:up", "Run everything on this machine until Ctrl-C."),
    "ps": ("infra.cli.stacks:list_stacks", "List the stacks that run or are kept in this folder."),
    "login": ("infra.cli.login:log_in", "Log in at a deployment with a browser."),
    "logout": ("infra.cli.login:log_out", "End a login and delete its tokens."),
    "add": ("infra.cli.client_files:add", "Add this endpoint to an MCP client's configuration."),
    "remove": ("infra.cli.client_files:remove", "Remove it from an MCP client's configuration."),
    "modules": ("infra.cli.tools:list_modules", "List the modules that you may use."),
    "schema": ("infra.cli.tools:schema", "Show what modules offer."),
    "call": ("infra.cli.tools:call", "Run one tool."),
    "why": ("infra.cli.modules:why", "Show why a tool can or cannot be used, and who can change it."),
    "batch": ("infra.cli.batch:batch", "Run, fetch or watch a batch."),
    "batches": ("infra.cli.batches:list_batches", "List your batches, those that run among them."),
    "cancel": ("infra.cli.batches:cancel", "Cancel a batch."),
    "changes": ("infra.cli.undo:list_changes", "List what your tools have changed, and show one change."),
    "undo": ("infra.cli.undo:undo", "Undo a change, a batch, or everything since a time."),
    "events": ("infra.cli.events:list_events", "List the event types, or the last events of one."),
    "plan": ("infra.cli.plan:plan_file", "Check a batch and show its machine, without a server."),
    "timeline": ("infra.cli.progress:timeline", "Show which step of a batch waited for which."),
    "machine": ("infra.cli.machines:machine", "Show the state machines that batches run on."),
    "org": ("infra.cli.organizations:org", "Administer organizations: create, change, export, import."),
    "user": ("infra.cli.people:user", "Administer the users of an organization."),
    "role": ("infra.cli.people:role", "Administer the roles of an organization."),
    "policy": ("infra.cli.policies:policy", "Show, check and save the policies of an organization."),
    "grant": ("infra.cli.grant:grant", "List, connect and revoke accounts."),
    "approvals": ("infra.cli.approvals:approvals", "List, show and decline what waits for a person's approval."),
    "audit": ("infra.cli.audit:show_audit", "Show who used which account for which tool."),
    "upstream": ("infra.cli.upstream:upstream", "Check, approve and import the MCP servers behind this one."),
    "module": ("infra.cli.modules:module", "List, register, switch and remove an organization's modules."),
    "skill": ("infra.cli.skills:skill", "List, read and approve the skills of an organization."),
    "tool": ("infra.cli.modules:tool", "List, search and switch tools."),
    "api": ("infra.cli.apis:api", "Make modules from OpenAPI descriptions, and check them."),
    "program": ("infra.cli.programs:program", "Check the command-line programs that are offered as tools."),
    "completion": ("infra.cli.tools:completion", "Print the script by which a shell completes this command."),
    "smoke": ("infra.cli.smoke:run_smoke", "Use a deployment once and show what does not work."),
    "doctor": ("infra.cli.doctor.command:run_doctor", "Check a deployment and show how to correct it."),
}


COMPLETE_VARIABLE = "_MCPIST_COMPLETE"
# What a shell reports of a program that SIGPIPE has ended: the reader of the output has closed it.
CLOSED_PIPE_CODE = 141


class LazyCommands(TyperGroup):
    """The commands of COMMANDS; `--help` lists them without an import."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: TyperCommand(name, help=text) for name, (_, text) in COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the command that is named, then resolve it."""
        if args and args[0] in COMMANDS:
            self.commands[args[0]] = _load(args[0])
        return super().resolve_command(ctx, args)


app = typer.Typer(cls=LazyCommands, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def _show_version(ctx: typer.Context, wanted: bool) -> None:
    if wanted:
        result = CommandResult(metadata={"version": VERSION}, drawing=f"mcpist {VERSION}")
        raise typer.Exit(ctx.obj.succeed(result))


def _choose_locale(locale: Literal["en", "ja"] | None) -> Literal["en", "ja"] | None:
    LOCALE.set(locale)
    return locale


@app.callback()
def mcpist(
    locale: Annotated[  # noqa: ARG001 - its callback has it before a wrong command is refused
        Literal["en", "ja"] | None,
        typer.Option(callback=_choose_locale, help="Language of errors and answers. [default: the user's]"),
    ] = None,
    url: Annotated[
        str | None, typer.Option(metavar="URL", envvar="MCPIST_URL", help="The MCP URL of the endpoint to use.")
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(metavar="TOKEN", envvar="MCPIST_TOKEN", help="The access token of the person who acts."),
    ] = None,
    json: Annotated[  # noqa: ARG001 - `run` takes it from any place of the line
        bool, typer.Option("--json", help="Print the JSON document on a terminal, too; also after the command.")
    ] = False,
    stack: Annotated[
        str, typer.Option(metavar="NAME", envvar="MCPIST_STACK", help="The stack of this folder, where it has several.")
    ] = DEFAULT,
    version: Annotated[  # noqa: ARG001 - its callback shows it
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version and exit.")
    ] = False,
) -> None:
    """MCPist on the command line. Every command prints one JSON document; a terminal gets text."""
    CHOSEN.set((url, token))
    choose_stack(stack)


def main() -> NoReturn:
    """Run the command of the process's arguments and exit with its code."""
    if COMPLETE_VARIABLE in os.environ:  # a shell asks what a line can become
        get_completion_inspect_parameters()  # which registers the shells
    try:
        code = run(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains when it ends
        code = CLOSED_PIPE_CODE
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code: 0 when it succeeded, else by who must act."""
    # After `--` every word belongs to the command, a `--json` among them.
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    document = CommandDocument(arguments, as_json="--json" in own)
    arguments = [word for word in own if word != "--json"] + arguments[len(own) :]
    LOCALE.set(None)
    try:
        result = app(arguments, prog_name="mcpist", standalone_mode=False, obj=document)
        return document.succeed(result) if isinstance(result, CommandResult) else int(result)
    except (McpistError, CommandError) as error:
        return document.fail(error)
    except BrokenPipeError:
        raise
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        hint = "Run it in a folder in which you may write, on a disk that has space."
        return document.fail(CommandError("NOT_CONFIGURED", f"{place}{error.strerror or error}", hint))
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        usage = context.get_usage() if context else ""
        message = error.format_message().replace("Value error, ", "")
        return document.fail(CommandError("VALIDATION_ERROR", message, usage))


def _load(name: str) -> Any:
    target, text = COMMANDS[name]
    try:
        declared = resolve_name(target)
    except ModuleNotFoundError:
        if IS_CHECKOUT:
            raise
        message = "This command needs the embedded AWS, and this mcpist is installed without it."
        hint = "Install the wheel with its extra: uv tool install --python 3.13 'mcpist[local] @ ./mcpist-...whl'"
        raise CommandError("NOT_CONFIGURED", message, hint) from None
    if not isinstance(declared, typer.Typer):
        function, declared = declared, command_group()
        declared.command(name)(function)
    command = typer.main.get_command(declared)
    command.name, command.help = name, command.help or text
    return command


if __name__ == "__main__":
    main()
