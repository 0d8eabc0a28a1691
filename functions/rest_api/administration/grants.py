"""Connected accounts, and the apps by which people connect those of registered modules.

The token broker does the work, and decides by the person's own token what is permitted; REST shows no secret.
"""

from typing import Annotated, Any

from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from mcpist.caller import ACCOUNT_PATTERN, ID_PATTERN, SERVICE_PATTERN
from mcpist.oauth.module_app import ModuleAppRequest
from mcpist.running import broker
from mcpist_services.registered import apps
from rest_api.administration.changes import administration
from rest_api.exchange import current
from rest_api.router import AdministrationRequest, Body, Operations

router = Operations("administration")

OwnerId = Annotated[str, Field(min_length=1, max_length=128, pattern=ID_PATTERN)]
ServiceName = Annotated[str, Field(max_length=64, pattern=SERVICE_PATTERN)]
User = Annotated[OwnerId | None, Query(description="Only this user's own accounts")]
Role = Annotated[OwnerId | None, Query(description="Only this role's accounts")]
AccountLabel = Annotated[
    str, Field(pattern=ACCOUNT_PATTERN, description="The label of one of several accounts; empty for `main`")
]
Service = Annotated[ServiceName | None, Query(description="Only accounts at this service's provider")]


class Grant(BaseModel):
    """A connected account, without its secrets."""

    owner: Annotated[str, Field(description="`user#ID` or `role#NAME`")]
    label: Annotated[str, Field(description="Names it among its owner's accounts at the provider")]
    default: Annotated[bool, Field(description="Whether it acts unless a call names another")]
    provider: str
    services: list[str]
    account_id: str
    account_name: str
    kind: str
    scopes: list[str]
    open_to: list[str]
    works: bool
    expires_at: int | None
    version: int
    created_at: int
    updated_at: int


class GrantList(BaseModel):
    """A page of connected accounts."""

    grants: list[Grant]
    cursor: Annotated[str, Field(description="Where the next page begins; empty on the last page")]


class NewGrant(AdministrationRequest):
    """A key that a person has made at a service."""

    model_config = ConfigDict(hide_input_in_errors=True)

    service: ServiceName
    key: Annotated[SecretStr, Field(min_length=1, max_length=16_384, json_schema_extra={"pattern": "^[!-~]+$"})]
    role: Annotated[OwnerId | None, Field(description="Connect it for every user with this role")] = None
    account: AccountLabel = ""
    open_to: Annotated[tuple[OwnerId, ...], Field(max_length=100, description="Your roles that may use it")] = ()


class DefaultAccount(AdministrationRequest):
    """The account that is to act unless a call names another."""

    account: Annotated[str, Field(min_length=1, pattern=ACCOUNT_PATTERN)]
    role: Annotated[OwnerId | None, Field(description="That of this role; else your own")] = None


class DefaultChosen(BaseModel):
    """The account that acts from now on."""

    service: str
    owner: str
    label: str
    account_name: str


class Confirmation(AdministrationRequest):
    """The answer to a question about a connection."""

    question: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    agreed: bool


class Selection(AdministrationRequest):
    """The accounts that are meant: a user's, a role's, a service's, or everything."""

    user: OwnerId | None = None
    role: OwnerId | None = None
    service: ServiceName | None = None
    everything: bool | None = None


class Connected(BaseModel):
    """The outcome of a connection; `asks` needs an answer at `/v1/grants/confirm`."""

    model_config = ConfigDict(extra="allow")

    outcome: str
    service: str


class Revoked(BaseModel):
    """The revoked account, with proof."""

    revoked: bool
    kept: Annotated[list[str], Field(description="The services for which the account stays connected")]
    proof: dict[str, Any] | None


class Killed(BaseModel):
    """The revoked accounts, with proof of each."""

    killed: list[dict[str, Any]]
    dropped: Annotated[int, Field(description="The unfinished connections that were dropped")]
    more: Annotated[bool, Field(description="Whether some are left: send the request again")]


@router.operation("GET", "/v1/grants", "List connected accounts")
def list_grants(
    user: User = None,
    role: Role = None,
    service: Service = None,
    cursor: Annotated[str, Query(max_length=256)] = "",
) -> GrantList:
    """List connected accounts and their owners; one's own, or for an administrator any of the organization."""
    page = broker.administer(current().caller, "list", user=user, role=role, service=service, cursor=cursor)
    return GrantList.model_validate(page)


@router.operation("POST", "/v1/grants", "Connect a key")
def create_grant(body: NewGrant) -> Connected:
    """Store a key that was made at a service, one's own or, for an administrator, a role's."""
    own = {"key": body.key.get_secret_value(), "account": body.account or None, "open_to": list(body.open_to) or None}
    answer = broker.administer(current().caller, "paste", **{**body.model_dump(), **own})
    return Connected.model_validate(answer)


@router.operation("POST", "/v1/grants/confirm", "Answer a question")
def confirm_grant(body: Confirmation) -> Connected:
    """Answer the question whether a connection may replace another one."""
    answer = broker.administer(current().caller, "confirm", **body.model_dump())
    return Connected.model_validate(answer)


@router.operation("POST", "/v1/grants/kill", "Revoke many accounts")
def kill_grants(body: Selection) -> Killed:
    """Revoke and delete many accounts at once, with proof of each."""
    return Killed.model_validate(broker.administer(current().caller, "kill", **body.model_dump()))


@router.operation("DELETE", "/v1/grants/<service>", "Revoke an account")
def revoke_grant(
    service: str,
    role: Annotated[str | None, Query(max_length=128, description="The role's account")] = None,
    account: Annotated[str | None, Query(max_length=32, description="The label of one of several accounts")] = None,
) -> Revoked:
    """Revoke one's own account for a service or, for an administrator, a role's, and delete it."""
    answer = broker.administer(current().caller, "revoke", service=service, role=role, account=account)
    broker.forget(current().caller, service)
    return Revoked.model_validate(answer)


@router.operation("PUT", "/v1/grants/<service>/default", "Choose the default account")
def choose_default_grant(service: str, body: DefaultAccount) -> DefaultChosen:
    """Choose which of one's own or, for an administrator, a role's accounts acts unless a call names another."""
    answer = broker.administer(current().caller, "default", service=service, role=body.role, account=body.account)
    broker.forget(current().caller, service)
    return DefaultChosen.model_validate(answer)


class ModuleAppView(Body):
    """An app without its secret; its fields are empty where there is none."""

    client_id: Annotated[str, Field(description="Empty: there is no app, and people paste keys")] = ""
    authorize_url: str = ""
    token_url: str = ""
    revoke_url: str = ""
    issuer: str = ""
    resource: Annotated[str, Field(description="The resource that tokens are requested for")] = ""
    scopes: list[str] = []
    client_auth: str = ""
    destination: Annotated[str, Field(description="Where tokens are sent, and how")] = ""


@router.operation("GET", "/v1/modules/<name>/app", "Show the app of a module", tag="modules")
def get_module_app(name: str) -> ModuleAppView:
    """Show the organization's own app for a registered module."""
    return ModuleAppView(**(apps.get_app(administration(), name) or {}))


@router.operation("PUT", "/v1/modules/<name>/app", "Set the app of a module", tag="modules")
def set_module_app(name: str, body: ModuleAppRequest) -> ModuleAppView:
    """Let people connect their accounts of a registered module by consent.

    What is left out comes from the API's description, else from what the server says of itself (RFC 9728, RFC 8414):
    an empty body makes MCPist known to a server that supports that. Secret and scopes can be replaced; a client or
    addresses that differ need the removal of the former app first.
    """
    return ModuleAppView(**apps.set_app(administration(), name, body))


@router.operation("DELETE", "/v1/modules/<name>/app", "Remove the app of a module", tag="modules")
def delete_module_app(name: str) -> ModuleAppView:
    """Remove the app of a registered module, and revoke the accounts that people connected for the module."""
    apps.remove_app(administration(), name)
    return ModuleAppView()
