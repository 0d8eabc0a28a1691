"""The users of an organization."""

from typing import Annotated, Any, Literal

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import BaseModel, ConfigDict, Field

from mcpist.people import edits
from mcpist.people.change import user_fields
from mcpist.people.organization import User
from mcpist.tools.access.effects import preview_tools
from mcpist_services.catalogue import CATALOGUE
from rest_api.administration.changes import (
    CREATED,
    ChangeReport,
    DryRun,
    Name,
    Names,
    WithGrants,
    administration,
    options,
    report,
    versioned,
)
from rest_api.administration.preview import Preview
from rest_api.router import new_router

TAGS = ["administration"]

router = new_router()


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


class UserList(BaseModel):
    """The users of an organization."""

    organization: str
    users: list[UserBody]


class UserChange(BaseModel):
    """The fields of a user that change."""

    model_config = ConfigDict(extra="forbid")

    name: Name | None = None
    sub: Annotated[Name | None, Field(description="The user's `sub` in access tokens")] = None
    issuer: Annotated[Name | None, Field(description="The user's OIDC issuer")] = None
    system_role: Literal["admin", "user"] | None = None
    roles: Annotated[Names | None, Field(description="The roles, in the order in which they count")] = None
    locale: Literal["en", "ja"] | None = None


class NewUser(UserChange):
    """A new user; without an issuer, that of all others."""

    user: Annotated[Name, Field(description="The user's id")]
    name: Name
    sub: Name


@router.get("/v1/users", tags=TAGS, summary="List the users", operation_id="list_users")
def list_users() -> Response[UserList]:
    """List the users of the organization."""
    work = administration()
    with work.permitted("users.list"):
        version, found = work.read()
    body = UserList(organization=found.id, users=[_body(user) for user in found.users.values()])
    return versioned(body, version)


@router.post("/v1/users", tags=TAGS, summary="Add a user", operation_id="create_user", responses=CREATED)
def create_user(body: NewUser, dry_run: DryRun = False) -> Response[ChangeReport]:
    """Add a user to the organization."""
    edit = edits.add_user(body.user, **_given(body))
    applied = administration().change("users.create", f"users.{body.user}", edit, options(dry_run=dry_run))
    return report(applied, creates=True)


@router.get("/v1/users/<user>", tags=TAGS, summary="Show a user", operation_id="get_user")
def get_user(user: str) -> Response[UserBody]:
    """Show a user."""
    work = administration()
    with work.permitted("users.read", f"users.{user}"):
        version, found = work.read()
        return versioned(_body(found.user(user)), version)


@router.patch("/v1/users/<user>", tags=TAGS, summary="Change a user", operation_id="change_user")
def change_user(user: str, body: UserChange, dry_run: DryRun = False) -> Response[ChangeReport]:
    """Change the named fields of a user."""
    edit = edits.change_user(user, **_given(body))
    return report(administration().change("users.update", f"users.{user}", edit, options(dry_run=dry_run)))


@router.delete("/v1/users/<user>", tags=TAGS, summary="Remove a user", operation_id="delete_user")
def delete_user(user: str, dry_run: DryRun = False, with_grants: WithGrants = False) -> Response[ChangeReport]:
    """Remove a user; one with connected accounts only together with them."""
    chosen = options(dry_run=dry_run, with_grants=with_grants)
    return report(administration().change("users.delete", f"users.{user}", edits.remove_user(user), chosen))


@router.get("/v1/users/<user>/preview", tags=TAGS, summary="Preview a user's tools", operation_id="preview_user")
def preview_user(user: str, tools: Annotated[bool, Query(description="Name every tool")] = False) -> Response[Preview]:
    """Show the tools that a user sees with all roles."""
    work = administration()
    with work.permitted("users.preview", f"users.{user}"):
        version, found = work.read()
        roles = [found.roles[role] for role in found.user(user).roles]
    return versioned(Preview.model_validate(preview_tools(found, CATALOGUE, *roles, tools=tools)), version)


def _given(body: UserChange) -> dict[str, Any]:
    """Return the fields that a body names; null means not named."""
    return body.model_dump(exclude_none=True, exclude={"user"})


def _body(user: User) -> UserBody:
    return UserBody.model_validate({"user": user.id, **user_fields(user)})
