"""`mcpist grant app`: our own client at a provider, stored where the token broker alone reads it."""

from typing import Annotated

from pydantic import ValidationError
from typer import Argument

from infra.cli.document import CommandError, CommandResult
from infra.cli.inputs import text_of
from infra.cli.options import Target
from infra.cli.target import opened
from infra.local.names import STACK
from mcpist.aws import clients
from mcpist.oauth.app import App, OAuthServerApp
from mcpist.suggestions import nearest
from mcpist.validation import field_path, first_error
from mcpist_services import providers

# Parameter Store's own key: the broker's role may use no other.
PARAMETER_STORE_KEY = "alias/aws/ssm"
FORM = 'Write {"client_id": "...", "client_secret": "..."}, see docs/deploy.md.'


def store_app(
    target: Target,
    provider: Annotated[str, Argument(metavar="PROVIDER", help="Its name, as `mcpist doctor` shows it.")],
    file: Annotated[str, Argument(metavar="FILE", help="JSON of the app; - is standard input.")] = "-",
) -> CommandResult:
    """Store the app that you registered at a provider, so that people can log in there."""
    text = text_of(file).strip()
    try:
        (OAuthServerApp if '"authorize_url"' in text else App).model_validate_json(text)
    except ValidationError as error:
        first = first_error(error)
        raise CommandError("VALIDATION_ERROR", f"{field_path(first['loc'], 'JSON')}: {first['msg']}", FORM) from None
    name = f"/mcpist/{target.stack or STACK}/oauth/{provider}"
    with opened(target):
        secret = {"Type": "SecureString", "KeyId": PARAMETER_STORE_KEY, "Overwrite": True}
        clients.client("ssm").put_parameter(Name=name, Value=text, **secret)
    known = providers()
    note = "" if provider in known else f" No built-in service has this provider: {nearest(provider, known)}."
    facts = {"provider": provider, "parameter": name}
    return CommandResult(metadata=facts, drawing=f"Stored; it counts within a minute.{note}")
