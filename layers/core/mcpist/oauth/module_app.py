"""Module app: an organization's own client at an OAuth server, for one module that it registered."""

import hashlib
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, StringConstraints, model_validator
from pydantic.alias_generators import to_camel

from mcpist.oauth.provider import OAuthServerApp, VisibleAscii, check_public_url

MAX_SCOPES_ASKED = 100

type OptionalUrl = Annotated[
    str, StringConstraints(max_length=1000), AfterValidator(lambda url: url and check_public_url(url))
]


class ModuleAppRequest(BaseModel):
    """An app as an administrator sets it: what is left out, the module's description or its server says."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True, hide_input_in_errors=True
    )

    client_id: VisibleAscii | Literal[""] = ""
    """Empty: the client is made known to a server that was discovered."""
    client_secret: Annotated[SecretStr, Field(max_length=500)] | None = None
    authorize_url: OptionalUrl = ""
    """The consent page; empty for an API whose description names it, and for a server that supports discovery."""
    token_url: OptionalUrl = ""
    revoke_url: OptionalUrl = ""
    """RFC 7009's endpoint, on the host of `token_url`."""
    issuer: OptionalUrl = ""
    """The `iss` that its responses must carry (RFC 9207)."""
    scopes: Annotated[tuple[VisibleAscii, ...], Field(max_length=MAX_SCOPES_ASKED)] = ()
    """Empty: those of the module's tools, or those that its server names."""
    client_auth: Literal["basic", "body"] | None = None

    @model_validator(mode="after")
    def _check_addresses(self) -> Self:
        if bool(self.authorize_url) != bool(self.token_url):
            raise ValueError("authorize_url and token_url belong together")
        if self.client_secret and not self.client_id:
            raise ValueError("a secret belongs to a client_id")
        return self

    def is_of(self, app: "ModuleApp") -> bool:
        """Whether it only replaces the secret or the scopes of an app, as a form that shows the app does."""
        shown = (app.client_id, app.authorize_url, app.token_url)
        return (self.client_id, self.authorize_url, self.token_url) == shown

    def fields(self) -> dict[str, Any]:
        """Return the fields that were given, with the secret in plain text."""
        given = self.model_dump(exclude_defaults=True)
        secret = self.client_secret
        return given | ({"client_secret": secret.get_secret_value()} if secret else {})


class ModuleApp(OAuthServerApp):
    """The client, bound to the place that its tokens are sent to."""

    userinfo_url: Literal[""] = ""
    """None: a token goes to the module's host, and to the server that issued it."""
    destination: str
    """Where the module's accounts were sent when the app was set."""

    @model_validator(mode="after")
    def _check_revocation(self) -> Self:
        if self.revoke_url and origin(self.revoke_url) != origin(self.token_url):
            raise ValueError("revoke_url is on another host than token_url")
        return self

    @property
    def identity(self) -> str:
        """The client with everything that decides where tokens go: an app that differs in it is another app."""
        bound = [self.authorize_url, self.token_url, self.revoke_url, self.issuer, self.resource, self.destination]
        return f"{self.client_id} {hashlib.sha256('\n'.join(bound).encode()).hexdigest()}"

    def view(self) -> dict[str, Any]:
        """Return it for people, without its secret."""
        return self.model_dump(mode="json", exclude={"client_secret", "tenant", "userinfo_url"})


def origin(url: str) -> tuple[str, str]:
    """Return the scheme and the host of an address."""
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()
