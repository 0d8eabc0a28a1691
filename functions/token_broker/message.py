"""What the other doors may ask of the broker: one model for each operation; anything else is refused.

Only `resolve` accepts a warrant as proof. No message can name another user: a person's own grant is always the
caller's, so somebody else's cannot even be asked for.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from mcpist.errors import InvalidRequest

LONGEST_SECRET = 16_384
OPERATIONS = ("resolve", "warrant", "put", "revoke", "status")


def _sendable(secret: SecretStr) -> SecretStr:
    """Visible ASCII only: what can stand in a header (RFC 6750)."""
    if not all("!" <= letter <= "~" for letter in secret.get_secret_value()):
        raise ValueError("a secret is visible ASCII without spaces")
    return secret


type Secret = Annotated[SecretStr, Field(min_length=1, max_length=LONGEST_SECRET), AfterValidator(_sendable)]
type Id = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"^[^#/\x00-\x1f]+$")]
type Service = Annotated[str, StringConstraints(max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
type Ids = Annotated[tuple[Id, ...], Field(max_length=100)]
type Services = Annotated[tuple[Service, ...], Field(max_length=100)]
type Label = Annotated[str, StringConstraints(max_length=256)]
type Natural = Annotated[int, Field(strict=True, ge=0)]


class Part(BaseModel):
    """Frozen, without unknown fields, and silent about what it refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class JwtProof(Part):
    """The caller's own access token."""

    kind: Literal["jwt"]
    value: Secret


class WarrantProof(Part):
    """What the broker sealed at a batch's start."""

    kind: Literal["warrant"]
    value: Secret


class Ask(Part):
    """What every message says: who asks, and as what."""

    proof: JwtProof
    organization: Id
    roles: Ids


class Resolve(Part):
    """The access token that a call of this service is sent with."""

    operation: Literal["resolve"]
    proof: Annotated[JwtProof | WarrantProof, Field(discriminator="kind")]
    organization: Id
    roles: Ids
    service: Service


class IssueWarrant(Ask):
    """A warrant that lets a batch resolve these services until then (epoch seconds)."""

    operation: Literal["warrant"]
    services: Services
    expires_at: Natural


class Put(Ask):
    """Store a grant: the caller's own, or (by an administrator) a role's.

    `replaces` is the version that it replaces, 0 where none stands. `open_to` are the caller's roles that may use
    the caller's own grant; without any, all may.
    """

    operation: Literal["put"]
    service: Service
    role: Id | None = None
    open_to: Ids = ()
    replaces: Natural = 0
    access_token: Secret
    refresh_token: Secret | None = None
    expires_at: Natural | None = None
    scopes: Annotated[tuple[Label, ...], Field(max_length=200)] = ()
    account_id: Label = ""
    account_name: Label = ""
    client_id: Label = ""

    @model_validator(mode="after")
    def _a_role_grant_is_its_role_s(self) -> "Put":
        if self.role and self.open_to:
            raise ValueError("a role's grant is open to that role: leave open_to out")
        return self


class Revoke(Ask):
    """Forget a grant: the caller's own, or (by an administrator) a role's."""

    operation: Literal["revoke"]
    service: Service
    role: Id | None = None


class Status(Ask):
    """Which of these services are connected for the caller, without secrets."""

    operation: Literal["status"]
    services: Services


type Message = Resolve | IssueWarrant | Put | Revoke | Status

_MESSAGE: TypeAdapter[Message] = TypeAdapter(Annotated[Message, Field(discriminator="operation")])

# pydantic's own words for it would quote the value.
_WORDS = {"union_tag_invalid": "it is of no known kind"}


def parse(event: Mapping[str, Any]) -> Message:
    """The typed message, or InvalidRequest naming the field and never its value."""
    try:
        return _MESSAGE.validate_python(event)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"][1:]) or "message"
        raise InvalidRequest(field=place, problem=_WORDS.get(first["type"], first["msg"])) from None
