"""The credential's place in a request: where a service expects the token or the key of an account."""

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

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
