"""Options that several commands share."""

import functools
import inspect
import json
import sys
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from infra.cli.document import CommandError, CommandResult

CHOSEN: ContextVar[tuple[str | None, str | None]] = ContextVar("chosen", default=(None, None))
"""The URL and the token that are named before the command; those after it win."""

MASKS = "masks such as tracker.* or *.get_*, separated by commas"

Url = Annotated[
    str | None,
    typer.Option(metavar="URL", help="The endpoint's MCP URL. [default: the last `up`'s or login's]"),
]
Token = Annotated[
    str | None, typer.Option(metavar="TOKEN", help="An access token of the person who acts. [default: as for --url]")
]
OrganizationOption = Annotated[
    str | None,
    typer.Option("--organization", "--org", metavar="ORG", help="The organization. [default: the last `up`'s]"),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Change nothing; show who would gain and lose which tools.")]
WithGrants = Annotated[
    bool, typer.Option("--with-grants", help="Also forget the connected accounts of each removed user and role.")
]
BatchFile = Annotated[str, typer.Argument(metavar="FILE", help="JSONL; - is standard input.")]
UpstreamsFile = Annotated[
    Path | None,
    typer.Option("--upstreams", metavar="FILE", help="[default: the last `up`'s, or layers/config/upstreams.json]"),
]


@dataclass(frozen=True, slots=True)
class Target:
    """The stack that a command acts on: the one of the last `mcpist up` where nothing is named."""

    stack: str | None = None
    profile: str | None = None
    region: str | None = None

    @property
    def deployed(self) -> bool:
        """Whether it is a stack in AWS."""
        return bool(self.stack or self.profile or self.region)


def command_group(text: str = "") -> typer.Typer:
    """Return an empty group of commands."""
    return typer.Typer(help=text or None, add_completion=False, rich_markup_mode=None)


def with_target(command: Callable[..., CommandResult]) -> Callable[..., CommandResult]:
    """Replace a command's first parameter, its Target, by the options that choose it."""

    def run(
        *,
        stack: Annotated[
            str | None, typer.Option(metavar="STACK", help="A stack in AWS. [default: the last `up`]")
        ] = None,
        profile: Annotated[str | None, typer.Option(metavar="PROFILE", help="The AWS profile to use.")] = None,
        region: Annotated[
            str | None, typer.Option(metavar="REGION", help="The stack's region. [default: the profile's]")
        ] = None,
        **given: Any,
    ) -> CommandResult:
        return command(Target(stack, profile, region), **given)

    return join_parameters(command, run)


def join_parameters(
    command: Callable[..., CommandResult], run: Callable[..., CommandResult]
) -> Callable[..., CommandResult]:
    """Give `run`, which calls a command, the command's parameters but its first, and its own ones."""
    own = list(inspect.signature(command).parameters.values())[1:]
    shared = [one for one in inspect.signature(run).parameters.values() if one.name != "given"]
    functools.update_wrapper(run, command)
    # typer reads the options from the signature, so the wrapper has to show those of the command.
    run.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
    return run


def chosen(url: str | None, token: str | None = None) -> tuple[str | None, str | None]:
    """Return the URL and the token of a command, or those that are named before it."""
    before = CHOSEN.get()
    return (url or before[0], token or before[1])


def items_of(text: str | None) -> tuple[str, ...] | None:
    """Return the items of a list that is separated by commas; None where none was given."""
    return None if text is None else tuple(filter(None, map(str.strip, text.split(","))))


def given(**fields: Any) -> dict[str, Any]:
    """Return the fields that were given: those that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def text_of(file: str) -> str:
    """Read a text file; `-` is standard input."""
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise CommandError("FILE_NOT_FOUND", f"{file}: {problem}", "Name a text file.") from None


def json_of(text: str) -> Any:
    """Parse the JSON of the option `--params`."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise CommandError("VALIDATION_ERROR", f"--params: {error}", "Write a JSON object.") from None
