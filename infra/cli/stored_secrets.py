"""`mcpist grant app` and `mcpist upstream secret`: secrets stored where only the functions that need them read."""

import re
import sys
from typing import Annotated

from pydantic import BaseModel, ValidationError
from typer import Argument

from infra.cli.document import CommandError, CommandResult
from infra.cli.options import Target, command_group, text_of
from infra.cli.target import opened
from infra.local.names import STACK
from mcpist.aws import clients
from mcpist.oauth.provider import App, OAuthServerApp
from mcpist.suggestions import nearest
from mcpist.validation import field_path, first_error
from mcpist_services import providers

# Parameter Store's own key: the broker's role may use no other.
PARAMETER_STORE_KEY = "alias/aws/ssm"
FORM_HINT = 'Write {"client_id": "...", "client_secret": "..."}, see docs/deploy.md.'
_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*", re.ASCII)
secret = command_group("Store the secrets of upstream servers.")


def store_app(
    target: Target,
    provider: Annotated[str, Argument(metavar="PROVIDER", help="Its name, as `mcpist doctor` shows it.")],
    file: Annotated[str, Argument(metavar="FILE", help="JSON of the app; - is standard input.")] = "-",
) -> CommandResult:
    """Store the app that you registered at a provider, so that people can log in there."""
    text = text_of(file).strip()
    # Of a union pydantic reports the errors of both models; the text says which one is meant.
    parse_app(OAuthServerApp if '"authorize_url"' in text else App, text)
    name = f"/mcpist/{target.stack or STACK}/oauth/{provider}"
    with opened(target):
        secret = {"Type": "SecureString", "KeyId": PARAMETER_STORE_KEY, "Overwrite": True}
        clients.client("ssm").put_parameter(Name=name, Value=text, **secret)
    known = providers()
    note = "" if provider in known else f" No built-in service has this provider: {nearest(provider, known)}."
    facts = {"provider": provider, "parameter": name}
    return CommandResult(metadata=facts, drawing=f"Stored; it counts within a minute.{note}")


def parse_app[Model: BaseModel](model: type[Model], text: str) -> Model:
    """Return an app from its JSON; an error shows no value of it."""
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        first = first_error(error)
        problem = f"{field_path(first['loc'], 'JSON')}: {first['msg']}"
        raise CommandError("VALIDATION_ERROR", problem, FORM_HINT) from None


@secret.command("set")
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
