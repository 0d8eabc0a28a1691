"""The dialect of a service: how it refuses, as types that say who must act, and where it expects the credential."""

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from mcpist.tools.declare.call import ServiceResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A request that the service refused for a reason that none of the classes below names."""

    problem: str = ""
    """The service's message; read from the usual fields of its JSON where it is empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimited(Refusal):
    """A request that came too early, and did nothing."""

    retry_after: float | None = None
    """Seconds until the next request; read from the standard headers where it is None."""
    path_only: bool = False
    """Whether the limit counts requests to this path apart from all others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingScope(Refusal):
    """A request that needs a permission which the account was not granted."""

    scope: str = ""
    """The permission's name; read from the `www-authenticate` challenge where it is empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRefused(Refusal):
    """A token that the service does not accept: expired, revoked or unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unavailable(Refusal):
    """A service that cannot answer now."""

    retry_after: float | None = None
    """Seconds until the next request, where the service names them: then it did nothing."""


@dataclass(frozen=True, slots=True)
class Refusals:
    """The refusals of one service, where they differ from the HTTP standards."""

    read: Callable[[ServiceResponse], Refusal | None] = lambda _: None
    """Return the refusal in a response of any status, 200 too; None leaves the response to the HTTP standards."""
    message_fields: tuple[str, ...] = ()
    """Fields with text for people, besides `message`, `title`, `detail`, `error` and `error_description`."""
    code_fields: tuple[str, ...] = ()
    """Fields with a code for programs, besides `code`."""
    list_fields: tuple[str, ...] = ()
    """Fields with a list of problems, or with a problem for each field of the request, besides `errors`."""


HTTP_STANDARD = Refusals()

type CredentialKind = Literal["bearer", "basic", "header", "query"]


@dataclass(frozen=True, slots=True)
class CredentialPlacement:
    """The place of the credential in requests."""

    kind: CredentialKind = "bearer"
    parameter: str = ""
    """The name of the header or of the query parameter."""
    prefix: str = ""
    """Text before the key in its header."""

    def headers(self, credential: str) -> dict[str, str]:
        """Return the header that carries a credential; none for one in the query."""
        match self.kind:
            case "bearer":
                return {"authorization": f"Bearer {credential}"}
            case "basic":
                return {"authorization": f"Basic {_basic(credential)}"}
            case "header":
                return {self.parameter.lower(): self.prefix + credential}
        return {}

    def query(self, credential: str) -> dict[str, str]:
        """Return the query parameter that carries a credential; none for one in a header."""
        return {self.parameter: credential} if self.kind == "query" else {}

    def secrets(self, credential: str) -> Iterator[str]:
        """Yield the texts that an error must not show."""
        yield credential
        if self.kind == "basic":
            yield _basic(credential)
            yield credential.partition(":")[2] or credential


BEARER = CredentialPlacement()


def _basic(credential: str) -> str:
    """Return `user:password` as the scheme Basic has it (RFC 7617); a key alone is a user without a password."""
    pair = credential if ":" in credential else f"{credential}:"
    return base64.b64encode(pair.encode()).decode()
