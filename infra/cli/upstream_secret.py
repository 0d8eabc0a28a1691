"""`mcpist upstream secret`: the stored parameters that a file of upstream servers refers to."""

import re
import sys
from typing import Annotated

from typer import Argument

from infra.cli.document import CommandError, CommandResult
from infra.cli.options import Target, command_group, with_target
from infra.cli.target import opened
from infra.local.names import STACK
from mcpist.aws import clients

_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*", re.ASCII)

secret = command_group("Store the secrets of upstream servers.")


@secret.callback()
def _secret() -> None:
    """Store the secrets of upstream servers."""


@secret.command("set")
@with_target
def set_secret(
    target: Target,
    name: Annotated[str, Argument(metavar="NAME", help="SERVER/KEY, or the whole reference as it is in the file.")],
) -> CommandResult:
    """Store a secret, which is read from the standard input or asked for."""
    parameter = _parameter_of(name, target.stack or STACK)
    value = _read_value(name)
    with opened(target):
        clients.client("ssm").put_parameter(Name=parameter, Value=value, Type="SecureString", Overwrite=True)
    reference = f"ssm:{parameter}"
    return CommandResult(
        metadata={"name": name, "reference": reference}, drawing=f"Stored. In the file it is {reference}"
    )


def _parameter_of(name: str, stack: str) -> str:
    """Return the parameter's path, which only the functions of this stack can read."""
    folder = f"/mcpist/{stack}/upstreams/"
    rest = name.removeprefix("ssm:").removeprefix(folder)
    if not _NAME.fullmatch(rest):
        hint = f"For example notes/key, or ssm:{folder}notes/key."
        raise CommandError("VALIDATION_ERROR", f'"{name}" is no name of a secret of this stack.', hint)
    return folder + rest


def _read_value(name: str) -> str:
    if sys.stdin.isatty():
        from getpass import getpass

        value = getpass(f"{name}: ")
    else:
        value = sys.stdin.read()
    if not (value := value.strip()):
        raise CommandError("VALIDATION_ERROR", "The secret is empty.", "Pipe it in, or type it when it is asked for.")
    return value
