"""Messages: the broker's requests, one model for each operation; any other operation is refused.

While a release rolls out, a door may be newer than the broker: fields that this release does not know are ignored. Not
so where a field may narrow what is stored or deleted (`StrictMessage`): there an unknown one is refused. For the same
reason a new field that limits an operation of another kind comes with a new operation.

A browser's session proves its person as the person's JWT does; only `login` and `reencrypt` need the JWT itself. Only
`resolve` accepts a warrant as well, and all messages that name roles, but `permit`, accept a permit. No message about
personal grants names a user: they are always the caller's, so another user's cannot even be requested.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    Base64Bytes,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from mcpist.caller import ACCOUNT_PATTERN, ID_PATTERN, SERVICE_PATTERN
from mcpist.errors import InvalidRequest
from mcpist.oauth.module_app import ModuleAppRequest
from mcpist.validation import field_path, first_error

MAX_SECRET_LENGTH = 16_384
MAX_PINS = 2_000
CORRELATION_PATTERN = r"[A-Za-z0-9-]{1,64}"


def _check_visible_ascii(secret: SecretStr) -> SecretStr:
    """Accept visible ASCII only, which a header can contain (RFC 6750)."""
    if not all("!" <= letter <= "~" for letter in secret.get_secret_value()):
        raise ValueError("a secret is visible ASCII without spaces")
    return secret


type Secret = Annotated[
    SecretStr, Field(min_length=1, max_length=MAX_SECRET_LENGTH), AfterValidator(_check_visible_ascii)
]
type Id = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=ID_PATTERN)]
type Service = Annotated[str, StringConstraints(max_length=64, pattern=SERVICE_PATTERN)]
type Ids = Annotated[tuple[Id, ...], Field(max_length=100)]
type Services = Annotated[tuple[Service, ...], Field(max_length=100)]
type Correlation = Annotated[str, StringConstraints(pattern=f"^{CORRELATION_PATTERN}$")]
type Label = Annotated[str, StringConstraints(max_length=256)]
type AccountLabel = Annotated[str, StringConstraints(pattern=ACCOUNT_PATTERN)]
"""The label of one of several accounts; no part of a key can be hidden in it."""
type Pins = Annotated[tuple[Label, ...], Field(max_length=MAX_PINS)]
type NonNegativeInt = Annotated[int, Field(strict=True, ge=0)]


class BrokerModel(BaseModel):
    """Model that ignores unknown fields, and whose errors do not quote the refused value."""

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)


type ProofKind = Literal["jwt", "session", "warrant", "permit"]


class MessageProof(BrokerModel):
    """Proof of who sends a message.

    `jwt` is the caller's own access token. The others the broker sealed: `session` when a person's browser had logged
    in, `warrant` at a batch's start, `permit` for what acts while its person is away.
    """

    kind: ProofKind
    value: Secret


def _of(*kinds: ProofKind) -> AfterValidator:
    """Accept a proof of these kinds alone."""

    def check(proof: MessageProof) -> MessageProof:
        if proof.kind not in kinds:
            raise ValueError(f"its kind must be {' or '.join(kinds)}")
        return proof

    return AfterValidator(check)


type PersonProof = Annotated[MessageProof, _of("jwt", "session")]


class Client(BrokerModel):
    """The program that the person uses, as the sending function knows it; it is only recorded."""

    name: Label = ""
    version: Label = ""
    id: Label = ""


class BaseMessage(BrokerModel):
    """The fields of every message."""

    correlation: Correlation | None = None
    """The id of the request in which the message is sent."""
    traceparent: Correlation | None = None
    """The W3C trace that the message continues."""
    client: Client | None = None


class CallerMessage(BaseMessage):
    """The fields of messages that name the caller's roles."""

    proof: Annotated[MessageProof, _of("jwt", "session", "permit")]
    organization: Id
    roles: Ids


class Resolve(BaseMessage):
    """Request the access token for a call of a service."""

    operation: Literal["resolve"]
    proof: MessageProof
    organization: Id
    roles: Ids
    service: Service
    refused: NonNegativeInt | None = None
    """The version of the token that the service refused."""
    account: AccountLabel = ""
    """The label of the account that is meant; empty for the default one."""
    pins: Pins = ()
    """The accounts that the call's batch keeps to; they can only narrow the caller's own choice."""


class ResolveSender(CallerMessage):
    """Request the access token of the account that sends the organization's notifications."""

    operation: Literal["sender"]


class IssueWarrant(CallerMessage):
    """Request a warrant with which a batch resolves these services until `expires_at` (epoch seconds)."""

    operation: Literal["warrant"]
    services: Services
    expires_at: NonNegativeInt


class IssuePermit(CallerMessage):
    """Request a permit with which these services are resolved until it ends, or somebody ends it."""

    operation: Literal["permit"]
    proof: PersonProof
    services: Services
    purpose: Label
    """What acts with it, for people."""


class KeepSecret(CallerMessage):
    """Request the sealed form of a secret, which only `mac` can use; a random one unless it is given."""

    operation: Literal["keep_secret"]
    owner: Id
    """What the secret belongs to; `mac` must name the same."""
    secret: Secret | None = None


class Status(CallerMessage):
    """Request which of these services are connected for the caller, without secrets."""

    operation: Literal["status"]
    services: Services


class PersonMessage(BaseMessage):
    """The fields of messages about a person's own accounts; without `roles`, all of the person's roles count."""

    proof: PersonProof
    organization: Id
    roles: Ids | None = None


class StrictMessage(PersonMessage):
    """A message that stores or deletes what its fields select, so that an unknown field is refused."""

    model_config = ConfigDict(extra="forbid")


class Revoke(StrictMessage):
    """Stop using a grant for a service: the caller's own or, for an administrator, a role's."""

    operation: Literal["revoke"]
    service: Service
    role: Id | None = None
    account: AccountLabel = ""


class ChooseDefault(StrictMessage):
    """Choose the account that acts unless a call names another: the caller's or, for an administrator, a role's."""

    operation: Literal["default"]
    service: Service
    role: Id | None = None
    account: AccountLabel


class ListPermits(PersonMessage):
    """List the caller's permits or, for an administrator, those of a user."""

    operation: Literal["permits"]
    user: Id | None = None


class EndPermit(StrictMessage):
    """End a permit of the caller's or, for an administrator, of a user's."""

    operation: Literal["end_permit"]
    permit: Id
    user: Id | None = None


class AdministrationMessage(StrictMessage):
    """The fields of messages about many grants: a user's, a role's, a provider's, or all of the organization."""

    user: Id | None = None
    role: Id | None = None
    service: Service | None = None

    @model_validator(mode="after")
    def _check_single_owner(self) -> Self:
        if self.user and self.role:
            raise ValueError("a grant is a user's or a role's")
        return self


class ListGrants(AdministrationMessage):
    """List grants without secrets; `cursor` is that of the previous page."""

    operation: Literal["list"]
    cursor: Label = ""


class Kill(AdministrationMessage):
    """Delete grants and revoke them at their providers; all of the organization's only with `everything`."""

    operation: Literal["kill"]
    everything: Annotated[bool, Field(strict=True)] = False

    @model_validator(mode="after")
    def _check_selection(self) -> Self:
        if self.everything == bool(self.user or self.role or self.service):
            raise ValueError("name a user, a role or a service, or everything")
        return self


class Reencrypt(StrictMessage):
    """Reseal the organization's grants under the current key; `cursor` is that of the previous page."""

    operation: Literal["reencrypt"]
    proof: Annotated[MessageProof, _of("jwt")]
    cursor: Label = ""


class Login(PersonMessage):
    """Request a session for the caller's browser; a caller with several organizations names one."""

    operation: Literal["login"]
    proof: Annotated[MessageProof, _of("jwt")]
    organization: Id | Literal[""] = ""


class ReadSession(PersonMessage):
    """Request what a session says, and its renewed form if it has one."""

    operation: Literal["session"]
    proof: Annotated[MessageProof, _of("session")]


class Offer(PersonMessage):
    """Request what can be connected, and what is; without `services`, for all that the caller's roles use."""

    operation: Literal["offer"]
    services: Services = ()


class Begin(StrictMessage):
    """Begin to connect an account for these services, all of one provider.

    It becomes the caller's own or, for an administrator, a role's. `open_to` names the caller's roles that may use it.
    """

    operation: Literal["begin"]
    proof: Annotated[MessageProof, _of("session")]
    services: Annotated[Services, Field(min_length=1)]
    role: Id | None = None
    account: AccountLabel = ""
    open_to: Ids = ()


class Finish(PersonMessage):
    """The provider's redirect: its query parameters."""

    operation: Literal["finish"]
    proof: Annotated[MessageProof, _of("session")]
    provider: Service
    state: Secret
    code: Secret | None = None
    error: Label = ""
    iss: Label = ""


class Paste(StrictMessage):
    """Store a key that the person created at the service; owner and roles are those of `begin`."""

    operation: Literal["paste"]
    service: Service
    key: Secret
    role: Id | None = None
    account: AccountLabel = ""
    open_to: Ids = ()


class SetApp(StrictMessage):
    """Set the app by which people connect accounts of a registered module."""

    operation: Literal["set_app"]
    service: Service
    app: ModuleAppRequest


class ShowApp(PersonMessage):
    """Request the app of a registered module, without its secret."""

    operation: Literal["show_app"]
    service: Service


class RemoveApp(StrictMessage):
    """Remove the app of a registered module."""

    operation: Literal["remove_app"]
    service: Service


class Confirm(PersonMessage):
    """The person's answer to a question of `finish` or `paste`."""

    operation: Literal["confirm"]
    question: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    agreed: Annotated[bool, Field(strict=True)]
    account: Label = ""
    """The id of the chosen account, where the question offers several."""


class Expire(BaseMessage, extra="forbid"):
    """End the accounts of the users whom the company's directory deactivated long enough ago.

    It needs no proof: the directory's table says of which users that is true.
    """

    operation: Literal["expire"]
    organization: Id


class Mac(BaseMessage, extra="forbid"):
    """Request the HMAC-SHA256 of a message under a kept secret.

    It needs no proof: vendors call without one, and the answer says nothing of the secret.
    """

    operation: Literal["mac"]
    organization: Id
    owner: Id
    sealed: Secret
    message: Base64Bytes


# Not by `type`: pydantic would name such an alias in the path of each error.
_GrantMessage = Resolve | ResolveSender | IssueWarrant | Status | Revoke | ChooseDefault | ListGrants | Kill | Reencrypt
_PageMessage = Login | ReadSession | Offer | Begin | Finish | Paste | Confirm | SetApp | ShowApp | RemoveApp
_ProvenMessage = _GrantMessage | IssuePermit | ListPermits | EndPermit | KeepSecret | _PageMessage
type ProvenMessage = _ProvenMessage
type Message = _ProvenMessage | Expire | Mac

OPERATIONS = tuple(
    str(get_args(model.model_fields["operation"].annotation)[0]) for model in get_args(Message.__value__)
)

_MESSAGE_ADAPTER: TypeAdapter[Message] = TypeAdapter(Annotated[Message, Field(discriminator="operation")])

# pydantic's own message would quote the value.
_PROBLEM_TEXTS = {"union_tag_invalid": "its kind is unknown"}


def carried_of(event: Any, name: str) -> str:
    """Return the `correlation` or `traceparent` of an unparsed message; empty for none or an invalid one."""
    value = event.get(name) if isinstance(event, dict) else None
    return value if isinstance(value, str) and re.fullmatch(CORRELATION_PATTERN, value) else ""


def parse(event: Mapping[str, Any]) -> Message:
    """Return the typed message; InvalidRequest names the field and never its value."""
    try:
        return _MESSAGE_ADAPTER.validate_python(event)
    except ValidationError as error:
        first = first_error(error)
        field = field_path(first["loc"][1:], "message")
        raise InvalidRequest(field=field, problem=_PROBLEM_TEXTS.get(first["type"], first["msg"])) from None
