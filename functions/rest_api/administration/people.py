"""The users and the roles of an organization."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import BaseModel, Field

from mcpist.caller import AnswerFormat, Role
from mcpist.paging import DEFAULT_PAGE_ITEMS, page_of
from mcpist.people import edits
from mcpist.people.change import unnamed_fields, user_fields
from mcpist.people.organization import Organization, User
from mcpist.tools.access.effects import preview_tools
from mcpist_services.catalogue import CATALOGUE
from rest_api.administration.changes import CREATED, ChangeReport, DryRun, Name, Names, NewId, WithGrants, change, show
from rest_api.router import AdministrationRequest, Cursor, Limit, Operations, PageBody, SearchText

router = Operations("administration")


class SubjectBody(BaseModel):
    """A user at the identity provider."""

    issuer: str
    sub: str


class UserBody(BaseModel):
    """A user."""

    user: str
    name: str
    subject: SubjectBody
    system_role: Literal["admin", "user"]
    roles: list[str]
    locale: Literal["en", "ja"]
    acceptance: Annotated[
        Literal["accepted", "waiting", "declined"],
        Field(description="Whether the person agreed to be a user here; only who has, can act"),
    ]
    kind: Annotated[
        Literal["person", "service"], Field(description="`service`: a program with credentials (`/v1/services`)")
    ]
    active: Annotated[bool, Field(description="False for whom the company's directory has deactivated")]
    groups: Annotated[list[str], Field(description="The ids of the user's groups in the company's directory")]
    directory_name: Annotated[str, Field(description="The user's name there; empty for whom it does not manage")]


class UserList(PageBody):
    """Users of an organization, by their ids."""

    organization: str
    users: list[UserBody]


class UserChange(AdministrationRequest):
    """The fields of a user that change."""

    name: Name | None = None
    sub: Annotated[Name | None, Field(description="The user's `sub` in access tokens")] = None
    issuer: Annotated[Name | None, Field(description="The user's OIDC issuer")] = None
    system_role: Literal["admin", "user"] | None = None
    roles: Annotated[Names | None, Field(description="The roles, in the order in which they count")] = None
    locale: Literal["en", "ja"] | None = None


class NewUser(UserChange):
    """A new user; without an issuer, that of all others."""

    user: Annotated[NewId, Field(description="The user's id")]
    name: Name
    sub: Name


class RoleBody(BaseModel):
    """A role, and the users who have it."""

    name: str
    modules: list[str]
    allow: list[str]
    deny: list[str]
    destructive: bool
    approval: list[str]
    second_person: list[str]
    format: AnswerFormat
    users: list[str]


class RoleList(PageBody):
    """Roles of an organization, by their names."""

    organization: str
    roles: list[RoleBody]


class RoleChange(AdministrationRequest):
    """The fields of a role that change."""

    modules: Names | None = None
    allow: Annotated[Names | None, Field(description="Masks of more tools than those that only read")] = None
    deny: Annotated[Names | None, Field(description="Masks of tools that the role never has")] = None
    destructive: Annotated[bool | None, Field(description="Whether it has tools that destroy, of the allowed")] = None
    approval: Annotated[
        Names | None, Field(description="Masks of tools: what they destroy waits for a person in the console")
    ] = None
    second_person: Annotated[Names | None, Field(description="Masks of tools that another person must approve")] = None
    format: Annotated[
        AnswerFormat | None, Field(description="The form of answers, where neither a call nor its client asks for one")
    ] = None


class NewRole(RoleChange):
    """A new role."""

    name: NewId


class PreviewedModule(BaseModel):
    """The number of a module's visible tools."""

    module: str
    tools: int
    of: int
    names: Annotated[dict[str, str], Field(description="The effect of each tool, if they are named")] = {}


class Preview(BaseModel):
    """The visible tools by module."""

    tools: int
    modules: list[PreviewedModule]


NameTools = Annotated[bool, Query(description="Name every tool")]


@router.operation("GET", "/v1/users", "List the users")
def list_users(q: SearchText = "", limit: Limit = DEFAULT_PAGE_ITEMS, cursor: Cursor = "") -> Response[UserList]:
    """List the users of the organization; `q` also searches in roles."""

    def describe(found: Organization) -> UserList:
        page = page_of(found.search_users(q), lambda user: user.id, cursor, limit)
        return UserList(organization=found.id, users=[*map(_user, page.items)], cursor=page.cursor, total=page.total)

    return show("users.list", "", describe)


@router.operation("POST", "/v1/users", "Add a user", CREATED)
def create_user(body: NewUser, dry_run: DryRun = False) -> Response[ChangeReport]:
    """Add a user to the organization."""
    return change("users.create", f"users.{body.user}", edits.add_user(**_given(body)), dry_run=dry_run)


@router.operation("GET", "/v1/users/<user>", "Show a user")
def get_user(user: str) -> Response[UserBody]:
    """Show a user."""
    return show("users.read", f"users.{user}", lambda found: _user(found.user(user)))


@router.operation("PATCH", "/v1/users/<user>", "Change a user")
def change_user(
    user: str, body: UserChange, dry_run: DryRun = False, with_grants: WithGrants = False
) -> Response[ChangeReport]:
    """Change the named fields of a user; one with connected accounts becomes another person only without them."""
    edit = edits.change_user(user, **_given(body))
    return change("users.update", f"users.{user}", edit, dry_run=dry_run, with_grants=with_grants)


@router.operation("DELETE", "/v1/users/<user>", "Remove a user")
def delete_user(user: str, dry_run: DryRun = False, with_grants: WithGrants = False) -> Response[ChangeReport]:
    """Remove a user; one with connected accounts only together with them."""
    return change("users.delete", f"users.{user}", edits.remove_user(user), dry_run=dry_run, with_grants=with_grants)


@router.operation("GET", "/v1/users/<user>/preview", "Preview a user's tools")
def preview_user(user: str, tools: NameTools = False) -> Response[Preview]:
    """Show the tools that a user sees with all roles."""

    def describe(found: Organization) -> Preview:
        return _preview(found, found.roles_of(found.user(user)), tools=tools)

    return show("users.preview", f"users.{user}", describe, tagged=False)


@router.operation("GET", "/v1/roles", "List the roles")
def list_roles(q: SearchText = "", limit: Limit = DEFAULT_PAGE_ITEMS, cursor: Cursor = "") -> Response[RoleList]:
    """List the roles of the organization."""

    def describe(found: Organization) -> RoleList:
        page = page_of(found.search_roles(q), lambda role: role.name, cursor, limit)
        roles = [_role(found, role) for role in page.items]
        return RoleList(organization=found.id, roles=roles, cursor=page.cursor, total=page.total)

    return show("roles.list", "", describe)


@router.operation("POST", "/v1/roles", "Add a role", CREATED)
def create_role(body: NewRole, dry_run: DryRun = False) -> Response[ChangeReport]:
    """Add a role to the organization."""
    return change("roles.create", f"roles.{body.name}", edits.add_role(**_given(body)), dry_run=dry_run)


@router.operation("GET", "/v1/roles/<role>", "Show a role")
def get_role(role: str) -> Response[RoleBody]:
    """Show a role and the users who have it."""
    return show("roles.read", f"roles.{role}", lambda found: _role(found, found.role(role)))


@router.operation("PATCH", "/v1/roles/<role>", "Change a role")
def change_role(role: str, body: RoleChange, dry_run: DryRun = False) -> Response[ChangeReport]:
    """Change the named fields of a role; with `dryRun`, see who would gain and lose which tools."""
    return change("roles.update", f"roles.{role}", edits.change_role(role, **_given(body)), dry_run=dry_run)


@router.operation("DELETE", "/v1/roles/<role>", "Remove a role")
def delete_role(role: str, dry_run: DryRun = False, with_grants: WithGrants = False) -> Response[ChangeReport]:
    """Remove a role that no user has; one with connected accounts only together with them."""
    return change("roles.delete", f"roles.{role}", edits.remove_role(role), dry_run=dry_run, with_grants=with_grants)


@router.operation("GET", "/v1/roles/<role>/preview", "Preview a role's tools")
def preview_role(role: str, tools: NameTools = False) -> Response[Preview]:
    """Show the tools that a user with only this role sees."""
    return show("roles.preview", f"roles.{role}", lambda found: _preview(found, [role], tools=tools), tagged=False)


def _given(body: BaseModel) -> dict[str, Any]:
    """Return the fields that a body names; null means not named."""
    return body.model_dump(exclude_none=True)


def _user(user: User) -> UserBody:
    return UserBody.model_validate({"user": user.id, **user_fields(user)})


def _role(organization: Organization, role: Role) -> RoleBody:
    users = list(organization.users_with_role(role.name))
    return RoleBody.model_validate({"name": role.name, **unnamed_fields(role), "users": users})


def _preview(organization: Organization, roles: Iterable[str], *, tools: bool) -> Preview:
    found = (organization.role(role) for role in roles)
    return Preview.model_validate(preview_tools(organization, CATALOGUE, *found, tools=tools))
