"""The options of commands that speak REST: the endpoint, the person and the organization."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from typer import Option

from infra.cli.document import CommandResult
from infra.cli.options import Token, Url, join_parameters
from infra.cli.rest_client import RestSession, open_session


@dataclass(frozen=True, slots=True)
class Access:
    """The endpoint, person and organization of the command line; by default the last `up`, else the last login."""

    url: str | None = None
    token: str | None = None
    organization: str | None = None

    def session(self, *, own: bool = False, organization: str | None = None) -> RestSession:
        """Return the session; beside an `up` its administrator acts, or with `own` its user."""
        return open_session(self.url, self.token, organization or self.organization, own=own)


def with_access(command: Callable[..., CommandResult]) -> Callable[..., CommandResult]:
    """Replace a command's first parameter, its Access, by the options that choose it."""

    def run(
        *,
        url: Url = None,
        token: Token = None,
        organization: Annotated[
            str | None, Option("--organization", "--org", metavar="ORG", help="[default: your only organization]")
        ] = None,
        **given: Any,
    ) -> CommandResult:
        return command(Access(url, token, organization), **given)

    return join_parameters(command, run)
