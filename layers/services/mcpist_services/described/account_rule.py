"""The way to connect accounts of an imported API: a key that people paste, or a consent."""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from mcpist.oauth.provider import check_public_url
from mcpist_services.definitions import DefinitionPart, ModuleName, is_forbidden_header

# An address of the internet, or of this machine: a deployment on the internet refuses the latter when it is used.
type Url = Annotated[
    str, StringConstraints(max_length=1000), AfterValidator(lambda url: check_public_url(url, loopback=True))
]

HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")


class OAuthRule(DefinitionPart):
    """The addresses at which an OAuth 2 client of ours asks for consent and for tokens."""

    authorize_url: Url
    token_url: Url
    scopes: tuple[str, ...] = ()
    """The scopes of every consent, besides those that the tools name."""
    client_auth: Literal["basic", "body"] = "body"
    """How our client authenticates at the token endpoint."""
    pkce: bool = True


class Security(DefinitionPart):
    """The credential of all tools: a key that people paste, or the token of a consent."""

    kind: Literal["none", "bearer", "basic", "header", "query"] = "none"
    parameter: str = Field("", max_length=100)
    """The header, or the query parameter, that carries the key."""
    prefix: str = Field("", max_length=50, pattern=r"^[ -~]*$")
    """Text before the key in its header, e.g. `Token `."""
    oauth: OAuthRule | None = None
    key_page: Url | Literal[""] = ""
    """The page on which people create a key."""

    @model_validator(mode="after")
    def _check_parameter(self) -> Self:
        if self.kind in {"header", "query"} and not HEADER_NAME.fullmatch(self.parameter):
            raise ValueError(f"a key in a {self.kind} needs its parameter")
        if self.kind == "header" and is_forbidden_header(self.parameter, holds_key=True):
            raise ValueError(f"no key can be sent in the header {self.parameter}")
        if self.oauth and self.kind != "bearer":
            raise ValueError("a token of a consent is sent as bearer")
        return self


class AccountRule(DefinitionPart):
    """The way to connect accounts of an imported API, for the token broker and the pages."""

    name: ModuleName
    title: str = Field(min_length=1, max_length=100)
    security: Security = Security()
    scopes: tuple[str, ...] = ()
    """The scopes that its tools need."""
