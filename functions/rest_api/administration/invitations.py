"""Users of no directory: people who come by the links of invitations, and programs with credentials."""

from typing import Annotated, Literal

from aws_lambda_powertools.event_handler import Response
from pydantic import BaseModel, Field

from mcpist.paging import DEFAULT_PAGE_ITEMS, page_of, search
from mcpist.people import invitations, services
from mcpist.people.services import MAX_PUBLIC_KEY_CHARACTERS, MadeCredentials
from rest_api.administration.changes import Name, Names, NewId, administration, shown_once
from rest_api.exchange import current
from rest_api.router import (
    AdministrationRequest,
    Cursor,
    Limit,
    Operations,
    PageBody,
    SearchText,
    body_of,
    json_responses,
)

router = Operations("administration")


class InvitationBody(BaseModel):
    """An invitation that waits; its link is shown only when it is made."""

    user: Annotated[str, Field(description="The user id that the person gets")]
    name: str
    roles: list[str]
    locale: Literal["en", "ja"]
    invited_by: str
    created_at: Annotated[int, Field(description="In seconds since 1970")]
    expires_at: Annotated[int, Field(description="In seconds since 1970")]


class InvitationList(PageBody):
    """Invitations that wait, by their users' ids."""

    invitations: list[InvitationBody]


class NewInvitation(AdministrationRequest):
    """An invitation to be made."""

    user: Annotated[NewId, Field(description="The user id that the person gets")]
    name: Annotated[str, Field(max_length=256, description="The person's name")] = ""
    roles: Names = ()
    locale: Literal["en", "ja"] = "en"
    days: Annotated[int, Field(ge=1, le=invitations.MAX_INVITATION_DAYS, description="How long the link works")] = (
        invitations.DEFAULT_INVITATION_DAYS
    )


class MadeInvitation(BaseModel):
    """The link of a new invitation."""

    user: str
    link: Annotated[str, Field(description="Whoever first signs in by it is the user. It is shown only now.")]
    days: int


class Withdrawal(BaseModel):
    """An invitation that works no more."""

    user: str
    withdrawn: bool = True


MADE = json_responses(MadeInvitation, _201="The link was made")


@router.operation("GET", "/v1/invitations", "List the invitations that wait")
def list_invitations(q: SearchText = "", limit: Limit = DEFAULT_PAGE_ITEMS, cursor: Cursor = "") -> InvitationList:
    """List the invitations that nobody has used yet."""
    work = administration()
    with work.permitted("invitations.list", event="look"):
        found = search(invitations.find(work.caller.organization), q, lambda one: (one.user, one.name, *one.roles))
    page = page_of(found, lambda one: one.user, cursor, limit)
    shown = [body_of(InvitationBody, one) for one in page.items]
    return InvitationList(invitations=shown, cursor=page.cursor, total=page.total)


@router.operation("POST", "/v1/invitations", "Invite a person", MADE)
def create_invitation(body: NewInvitation) -> Response[MadeInvitation]:
    """Make a link by which one person joins the organization as a user with these roles."""
    work = administration()
    secret = invitations.invite(work, body.user, name=body.name, roles=body.roles, locale=body.locale, days=body.days)
    url = invitations.link(current().request.public_url, work.caller.organization, secret)
    return shown_once(MadeInvitation(user=body.user, link=url, days=body.days))


@router.operation("DELETE", "/v1/invitations/<user>", "Withdraw an invitation")
def delete_invitation(user: str) -> Withdrawal:
    """Make the link of an invitation useless."""
    invitations.withdraw_of(administration(), user)
    return Withdrawal(user=user)


class NewCredentials(AdministrationRequest):
    """The proof of a program: a key, or a secret that is made if neither field is named."""

    public_key: Annotated[
        str, Field(max_length=MAX_PUBLIC_KEY_CHARACTERS, description="Its public key (EC P-256 or RSA), as PEM or JWK")
    ] = ""
    jwks_url: Annotated[
        str,
        Field(max_length=1_000, pattern=r"^(https://.*)?$", description="The address at which it publishes its keys"),
    ] = ""


class NewService(NewCredentials):
    """A new service user."""

    user: Annotated[NewId, Field(description="The user's id")]
    name: Name
    roles: Names = ()


class ServiceBody(BaseModel):
    """A service user's credentials."""

    user: str
    client_id: Annotated[str, Field(description="Its `client_id` at the token endpoint")]
    client_secret: Annotated[str | None, Field(description="It is shown only now")] = None
    token_endpoint: str


MADE = json_responses(ServiceBody, _201="The program can log in")


@router.operation("POST", "/v1/services", "Add a service user", MADE)
def create_service(body: NewService) -> Response[ServiceBody]:
    """Add a program that acts for no person: a user with roles that gets tokens by `client_credentials`.

    It is changed and removed like any other user: then its tokens are refused within five seconds.
    """
    made = services.create(administration(), **body.model_dump())
    return _shown(body.user, made)


@router.operation("POST", "/v1/services/<user>/credentials", "Replace a service user's credentials", MADE)
def replace_service_credentials(user: str, body: NewCredentials) -> Response[ServiceBody]:
    """Give a service user a new key or secret; the former one and its tokens are refused within five seconds."""
    made = services.replace_credentials(administration(), user, **body.model_dump())
    return _shown(user, made)


def _shown(user: str, made: MadeCredentials) -> Response[ServiceBody]:
    endpoint = f"{current().request.public_url}/login/token"
    secret = made.secret or None
    return shown_once(ServiceBody(user=user, client_id=made.client_id, client_secret=secret, token_endpoint=endpoint))
