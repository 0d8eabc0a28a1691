"""Options that several commands share."""

import functools
import inspect
import sys
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from infra.cli.document import CommandError

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
    bool,
    typer.Option("--with-grants", help="Also forget the accounts of users and roles that are removed or replaced."),
]
BatchFile = Annotated[str, typer.Argument(metavar="FILE", help="JSONL; - is standard input.")]
UpstreamsFile = Annotated[
    Path | None,
    typer.Option("--upstreams", metavar="FILE", help="[default: the last `up`'s, or layers/config/upstreams.json]"),
]


@dataclass(frozen=True, slots=True)
class Target:
    """The stack that a command acts on: the one of the last `mcpist up` where nothing is named."""

    stack: Annotated[str | None, typer.Option(metavar="STACK", help="A stack in AWS. [default: the last `up`]")] = None
    profile: Annotated[str | None, typer.Option(metavar="PROFILE", help="The AWS profile to use.")] = None
    region: Annotated[
        str | None, typer.Option(metavar="REGION", help="The stack's region. [default: the profile's]")
    ] = None

    @property
    def deployed(self) -> bool:
        """Whether it is a stack in AWS."""
        return bool(self.stack or self.profile or self.region)


class ListingGroup(TyperGroup):
    """Commands of which `list` runs where none is named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words after the group's name."""
        if not args and not ctx.resilient_parsing and "list" in self.commands:  # a shell that completes names none yet
            args = ["list"]
        return super().parse_args(ctx, args)


class CommandGroup(typer.Typer):
    """Commands that may take a dataclass such as Target: an option for each of its fields."""

    def command[C: Callable[..., Any]](self, name: str | None = None, **settings: Any) -> Callable[[C], C]:
        """Register a command, which stays callable as it is written."""

        def declare(command: C) -> C:
            # Without a short text, the group's list of commands ends each line that is too long in the middle.
            summary = settings.get("help") or inspect.getdoc(command) or ""
            register = super(CommandGroup, self).command(name, short_help=summary.partition("\n")[0], **settings)
            register(_with_options(command))
            return command

        return declare


def command_group(text: str = "") -> CommandGroup:
    """Return an empty group of commands."""
    # Without a callback typer makes a group's only command the group itself.
    callback = (lambda: None) if text else None
    return CommandGroup(
        help=text or None, cls=ListingGroup, callback=callback, add_completion=False, rich_markup_mode=None
    )


def _with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Replace a command's dataclasses by options; those of its first parameter come last in its help."""
    parameters = inspect.signature(command).parameters.values()
    joined: dict[str, Any] = {one.name: one.annotation for one in parameters if is_dataclass(one.annotation)}
    if not joined:
        return command
    options = {name: inspect.signature(kind).parameters for name, kind in joined.items()}

    @functools.wraps(command)
    def run(**given: Any) -> Any:
        made = {name: kind(**{one: given.pop(one) for one in options[name]}) for name, kind in joined.items()}
        return command(**made, **given)

    shown = [options[one.name].values() if one.name in joined else [one] for one in parameters]
    first = 1 if next(iter(parameters)).name in joined else 0
    ordered = [one.replace(kind=one.KEYWORD_ONLY) for part in shown[first:] + shown[:first] for one in part]
    # typer reads the options from the signature.
    run.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
    return run


def chosen(url: str | None, token: str | None = None) -> tuple[str | None, str | None]:
    """Return the URL and the token of a command, or those that are named before it."""
    before = CHOSEN.get()
    return (url or before[0], token or before[1])


class Items(tuple[str, ...]):
    """The value of an option that is a list, separated by commas."""

    # typer would take a plain tuple for an option with several values.
    @classmethod
    def parse(cls, text: str) -> "Items":
        """Return the items of a text."""
        return cls(filter(None, map(str.strip, text.split(","))))


def items(text: str) -> Any:
    """Return the declaration of an option for Items, with its help."""
    return typer.Option(metavar="A,B", parser=Items.parse, help=text)


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
