"""The company: its directory with the token and the groups, and the logins of the people of its domains."""

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from pydantic import BaseModel, Field

from mcpist.paging import DEFAULT_PAGE_ITEMS, page_of, search
from mcpist.people import company_logins, provisioning
from mcpist.people.change import directory_fields
from mcpist.people.company import MAX_GRANT_DAYS, Group
from mcpist.people.issuers import Issuer
from mcpist.people.organization import Organization
from rest_api.administration.changes import ChangeReport, DryRun, Names, administration, change, show, shown_once
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


class DirectoryBody(BaseModel):
    """The company's directory."""

    url: Annotated[str, Field(description="Where the directory sends its SCIM requests")]
    connected: Annotated[bool, Field(description="Whether it has a token")]
    token_made_at: Annotated[int, Field(description="In seconds since 1970; 0 for never")]
    grant_days: Annotated[int, Field(description="How many days the accounts of a deactivated user are kept")]


class DirectoryChange(AdministrationRequest):
    """The fields of the company's directory that change."""

    grant_days: Annotated[int, Field(ge=0, le=MAX_GRANT_DAYS)]


class MadeToken(BaseModel):
    """A new token of the company's directory."""

    url: str
    token: Annotated[str, Field(description="What the directory sends as its bearer token. It is shown only now.")]


class GroupBody(BaseModel):
    """A group of the company's directory."""

    id: str
    name: str
    external_id: Annotated[str, Field(description="Its id at the directory, where it says one")]
    roles: Annotated[list[str], Field(description="The roles that its members have by it")]
    members: Annotated[int, Field(description="The number of its members")]


class GroupList(PageBody):
    """Groups of the company's directory, by their names."""

    groups: list[GroupBody]


class GroupChange(AdministrationRequest):
    """The roles that a group gives."""

    roles: Names


MADE = json_responses(MadeToken, _201="The token was made, and the one before it ended")


def _url() -> str:
    return f"{current().request.public_url}{provisioning.SCIM_PATH}"


@router.operation("GET", "/v1/directory", "Show the company's directory")
def get_directory() -> Response[DirectoryBody]:
    """Show how the company's directory reaches the organization."""
    return show("directory.read", "directory", lambda found: DirectoryBody(url=_url(), **directory_fields(found)))


@router.operation("PATCH", "/v1/directory", "Change the company's directory")
def change_directory(body: DirectoryChange, dry_run: DryRun = False) -> Response[ChangeReport]:
    """Change how long the accounts of a deactivated user are kept."""
    edit = provisioning.change_directory(grant_days=body.grant_days)
    return change("directory.update", "directory", edit, dry_run=dry_run)


@router.operation("POST", "/v1/directory/token", "Make the directory's token", MADE)
def create_directory_token() -> Response[MadeToken]:
    """Make a token for the company's directory; the one before it ends at once."""
    return shown_once(MadeToken(url=_url(), token=provisioning.make_token(administration())))


@router.operation("DELETE", "/v1/directory/token", "Revoke the directory's token")
def delete_directory_token(dry_run: DryRun = False) -> Response[ChangeReport]:
    """Revoke the token of the company's directory; its users and groups stay as they are."""
    return change("directory.disconnect", "directory", provisioning.REVOKE_TOKEN, dry_run=dry_run)


@router.operation("GET", "/v1/groups", "List the groups")
def list_groups(q: SearchText = "", limit: Limit = DEFAULT_PAGE_ITEMS, cursor: Cursor = "") -> Response[GroupList]:
    """List the groups of the company's directory and the roles that they give."""

    def describe(found: Organization) -> GroupList:
        groups = search(found.groups.values(), q, lambda group: (group.name, *group.roles))
        page = page_of(groups, lambda group: group.id, cursor, limit)
        shown = [_group(found, group) for group in page.items]
        return GroupList(groups=shown, cursor=page.cursor, total=page.total)

    return show("groups.list", "", describe)


@router.operation("PATCH", "/v1/groups/<group>", "Change a group")
def change_group(group: str, body: GroupChange, dry_run: DryRun = False) -> Response[ChangeReport]:
    """Give the members of a group these roles; with `dryRun`, see who would gain and lose which tools."""
    edit = provisioning.give_roles(group, body.roles)
    return change("groups.update", f"groups.{group}", edit, dry_run=dry_run)


def _group(organization: Organization, group: Group) -> GroupBody:
    members = len(organization.members_of(group.id))
    return body_of(GroupBody, group, roles=list(group.roles), members=members)


class NewLogin(AdministrationRequest):
    """The issuer of a domain's people, and our client there."""

    issuer: Annotated[
        str, Field(max_length=500, pattern="^https?://", description="Its https URL, as its metadata has it")
    ]
    client_id: Annotated[str, Field(max_length=500)]
    client_secret: Annotated[
        str, Field(max_length=2_000, repr=False, description="It is never shown again; empty for a public client")
    ] = ""


class LoginBody(BaseModel):
    """A company login."""

    domain: str
    issuer: str
    client_id: str
    redirect_uri: Annotated[str, Field(description="The redirect URI that the issuer's client needs")]


class LoginList(BaseModel):
    """The company logins, and how a domain names the organization."""

    logins: list[LoginBody]
    proof_url: Annotated[str, Field(description="The file that each domain publishes")]
    proof_line: Annotated[str, Field(description="The line of it that names the organization")]


@router.operation("GET", "/v1/logins", "List the company logins")
def list_logins() -> LoginList:
    """List the issuers at which the organization's people log in, by the domains of their addresses."""
    work = administration()
    with work.permitted("logins.list", event="look"):
        found = company_logins.find(work.caller.organization)
    line = company_logins.proof_line(work.caller.organization)
    return LoginList(logins=list(map(_shown, found)), proof_url=company_logins.PROOF_URL, proof_line=line)


@router.operation("PUT", "/v1/logins/<domain>", "Set a company login")
def set_login(domain: str, body: NewLogin) -> LoginBody:
    """Let an issuer say who the people of a domain are; each value is tried at the issuer and the domain first."""
    return _shown(company_logins.save(administration(), domain, **body.model_dump()))


@router.operation("DELETE", "/v1/logins/<domain>", "Remove a company login")
def delete_login(domain: str) -> LoginList:
    """Let the people of a domain log in as all others do, and list the logins that are left; users stay as they are."""
    company_logins.remove(administration(), domain)
    return list_logins()


def _shown(one: Issuer) -> LoginBody:
    return body_of(LoginBody, one, issuer=one.url)
