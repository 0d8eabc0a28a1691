"""What the other doors may ask of the broker: one model for each operation; anything else is refused.

Only `resolve` accepts a warrant as proof, and it accepts no browser's session. No message can name another user: a
person's own grant is always the caller's, so somebody else's cannot even be asked for.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

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
from mcpist.validation import field_path, first_error

MAX_SECRET_LENGTH = 16_384
CORRELATION_PATTERN = r"[A-Za-z0-9-]{1,64}"
OPERATIONS = (
    "resolve",
    "warrant",
    "revoke",
    "status",
    "list",
    "kill",
    "reencrypt",
    "login",
    "offer",
    "begin",
    "finish",
    "confirm",
    "paste",
)


def _check_visible_ascii(secret: SecretStr) -> SecretStr:
    """Visible ASCII only: what can stand in a header (RFC 6750)."""
    if not all("!" <= letter <= "~" for letter in secret.get_secret_value()):
        raise ValueError("a secret is visible ASCII without spaces")
    return secret


type Secret = Annotated[
    SecretStr, Field(min_length=1, max_length=MAX_SECRET_LENGTH), AfterValidator(_check_visible_ascii)
]
type Id = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"^[^#/\x00-\x1f]+$")]
type Service = Annotated[str, StringConstraints(max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
type Ids = Annotated[tuple[Id, ...], Field(max_length=100)]
type Services = Annotated[tuple[Service, ...], Field(max_length=100)]
type Correlation = Annotated[str, StringConstraints(pattern=f"^{CORRELATION_PATTERN}$")]
type Label = Annotated[str, StringConstraints(max_length=256)]
type NonNegativeInt = Annotated[int, Field(strict=True, ge=0)]


class StrictModel(BaseModel):
    """Frozen, without unknown fields, and silent about what it refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class JwtProof(StrictModel):
    """The caller's own access token."""

    kind: Literal["jwt"]
    value: Secret


class WarrantProof(StrictModel):
    """What the broker sealed at a batch's start."""

    kind: Literal["warrant"]
    value: Secret


class SessionProof(StrictModel):
    """What the broker sealed when a person's browser had logged in."""

    kind: Literal["session"]
    value: Secret


type PersonProof = Annotated[JwtProof | SessionProof, Field(discriminator="kind")]


class BaseMessage(StrictModel):
    """What every message may say: the id of the request that it is sent in, of the door's or its caller's."""

    correlation: Correlation | None = None


class CallerMessage(BaseMessage):
    """Who asks, and as what."""

    proof: JwtProof
    organization: Id
    roles: Ids


class Resolve(BaseMessage):
    """The access token that a call of this service is sent with; `refused` is the version that it did not accept."""

    operation: Literal["resolve"]
    proof: Annotated[JwtProof | WarrantProof, Field(discriminator="kind")]
    organization: Id
    roles: Ids
    service: Service
    refused: NonNegativeInt | None = None


class IssueWarrant(CallerMessage):
    """A warrant that lets a batch resolve these services until then (epoch seconds)."""

    operation: Literal["warrant"]
    services: Services
    expires_at: NonNegativeInt


class Status(CallerMessage):
    """Which of these services are connected for the caller, without secrets."""

    operation: Literal["status"]
    services: Services


class PersonMessage(BaseMessage):
    """What a person does about their own accounts; without `roles`, in all that they have."""

    proof: PersonProof
    organization: Id
    roles: Ids | None = None


class Revoke(PersonMessage):
    """Use a grant no longer for a service: the caller's own, or (by an administrator) a role's."""

    operation: Literal["revoke"]
    service: Service
    role: Id | None = None


class AdministrationMessage(PersonMessage):
    """What is done about many grants: of a user or a role, of a service's provider, or of the whole organization."""

    proof: JwtProof
    user: Id | None = None
    role: Id | None = None
    service: Service | None = None

    @model_validator(mode="after")
    def _check_single_owner(self) -> Self:
        if self.user and self.role:
            raise ValueError("a grant is a user's or a role's")
        return self


class ListGrants(AdministrationMessage):
    """The grants, without secrets; `cursor` is where the page before ended."""

    operation: Literal["list"]
    cursor: Label = ""


class Kill(AdministrationMessage):
    """Forget the grants and revoke them at their providers; all of the organization's only by the word `everything`."""

    operation: Literal["kill"]
    everything: Annotated[bool, Field(strict=True)] = False

    @model_validator(mode="after")
    def _check_selection(self) -> Self:
        if self.everything == bool(self.user or self.role or self.service):
            raise ValueError("name a user, a role or a service, or everything")
        return self


class Reencrypt(PersonMessage):
    """Seal the organization's grants anew under the present key; `cursor` is where the time before ended."""

    operation: Literal["reencrypt"]
    proof: JwtProof
    cursor: Label = ""


class Login(PersonMessage):
    """A session for the browser of who sends this; an organization is named by who is in several."""

    operation: Literal["login"]
    proof: JwtProof
    organization: Id | Literal[""] = ""


class Offer(PersonMessage):
    """What of these services (without any: of all built in) can be connected, and what is."""

    operation: Literal["offer"]
    services: Services = ()


class Begin(PersonMessage):
    """Begin to connect an account that serves these services, all of one provider.

    It becomes the caller's own, or (by an administrator) a role's. `open_to` are the caller's roles that may use it.
    """

    operation: Literal["begin"]
    proof: SessionProof
    services: Annotated[Services, Field(min_length=1)]
    role: Id | None = None
    open_to: Ids = ()


class Finish(PersonMessage):
    """What the provider sent the browser back with."""

    operation: Literal["finish"]
    proof: SessionProof
    provider: Service
    state: Secret
    code: Secret | None = None
    error: Label = ""
    iss: Label = ""


class Paste(PersonMessage):
    """Store a key that the person made at the service, as `begin` would what it consents to."""

    operation: Literal["paste"]
    service: Service
    key: Secret
    role: Id | None = None
    open_to: Ids = ()


class Confirm(PersonMessage):
    """The answer to what `finish` or `paste` asked."""

    operation: Literal["confirm"]
    question: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    agreed: Annotated[bool, Field(strict=True)]


type Message = (
    Resolve
    | IssueWarrant
    | Revoke
    | ListGrants
    | Kill
    | Reencrypt
    | Status
    | Login
    | Offer
    | Begin
    | Finish
    | Paste
    | Confirm
)

_MESSAGE_ADAPTER: TypeAdapter[Message] = TypeAdapter(Annotated[Message, Field(discriminator="operation")])

# pydantic's own words for it would quote the value.
_PROBLEM_TEXTS = {"union_tag_invalid": "it is of no known kind"}


def correlation_of(event: Any) -> str:
    """The id that a message brings, before anything else of it is believed; empty for none, or what cannot be one."""
    found = event.get("correlation") if isinstance(event, dict) else None
    return found if isinstance(found, str) and re.fullmatch(CORRELATION_PATTERN, found) else ""


def parse(event: Mapping[str, Any]) -> Message:
    """The typed message, or InvalidRequest naming the field and never its value."""
    try:
        return _MESSAGE_ADAPTER.validate_python(event)
    except ValidationError as error:
        first = first_error(error)
        field = field_path(first["loc"][1:], "message")
        raise InvalidRequest(field=field, problem=_PROBLEM_TEXTS.get(first["type"], first["msg"])) from None
