"""The roles of an organization."""

from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import BaseModel, ConfigDict, Field

from mcpist.caller import Role
from mcpist.people import edits
from mcpist.people.change import role_fields
from mcpist.people.organization import Organization
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


class RoleBody(BaseModel):
    """A role, and the users who have it."""

    name: str
    modules: list[str]
    allow: list[str]
    deny: list[str]
    destructive: bool
    users: list[str]


class RoleList(BaseModel):
    """The roles of an organization."""

    organization: str
    roles: list[RoleBody]


class RoleChange(BaseModel):
    """The fields of a role that change."""

    model_config = ConfigDict(extra="forbid")

    modules: Names | None = None
    allow: Annotated[Names | None, Field(description="Masks of more tools than those that only read")] = None
    deny: Annotated[Names | None, Field(description="Masks of tools that the role never has")] = None
    destructive: Annotated[bool | None, Field(description="Whether it has tools that destroy, of the allowed")] = None


class NewRole(RoleChange):
    """A new role."""

    name: Name


@router.get("/v1/roles", tags=TAGS, summary="List the roles", operation_id="list_roles")
def list_roles() -> Response[RoleList]:
    """List the roles of the organization."""
    work = administration()
    with work.permitted("roles.list"):
        version, found = work.read()
    body = RoleList(organization=found.id, roles=[_body(found, role) for role in found.roles.values()])
    return versioned(body, version)


@router.post("/v1/roles", tags=TAGS, summary="Add a role", operation_id="create_role", responses=CREATED)
def create_role(body: NewRole, dry_run: DryRun = False) -> Response[ChangeReport]:
    """Add a role to the organization."""
    edit = edits.add_role(body.name, **_given(body))
    applied = administration().change("roles.create", f"roles.{body.name}", edit, options(dry_run=dry_run))
    return report(applied, creates=True)


@router.get("/v1/roles/<role>", tags=TAGS, summary="Show a role", operation_id="get_role")
def get_role(role: str) -> Response[RoleBody]:
    """Show a role and the users who have it."""
    work = administration()
    with work.permitted("roles.read", f"roles.{role}"):
        version, found = work.read()
        return versioned(_body(found, found.role(role)), version)


@router.patch("/v1/roles/<role>", tags=TAGS, summary="Change a role", operation_id="change_role")
def change_role(role: str, body: RoleChange, dry_run: DryRun = False) -> Response[ChangeReport]:
    """Change the named fields of a role; with `dryRun`, see who would gain and lose which tools."""
    edit = edits.change_role(role, **_given(body))
    return report(administration().change("roles.update", f"roles.{role}", edit, options(dry_run=dry_run)))


@router.delete("/v1/roles/<role>", tags=TAGS, summary="Remove a role", operation_id="delete_role")
def delete_role(role: str, dry_run: DryRun = False, with_grants: WithGrants = False) -> Response[ChangeReport]:
    """Remove a role that no user has; one with connected accounts only together with them."""
    chosen = options(dry_run=dry_run, with_grants=with_grants)
    return report(administration().change("roles.delete", f"roles.{role}", edits.remove_role(role), chosen))


@router.get("/v1/roles/<role>/preview", tags=TAGS, summary="Preview a role's tools", operation_id="preview_role")
def preview_role(role: str, tools: Annotated[bool, Query(description="Name every tool")] = False) -> Response[Preview]:
    """Show the tools that a user with only this role sees."""
    work = administration()
    with work.permitted("roles.preview", f"roles.{role}"):
        version, found = work.read()
        shown = preview_tools(found, CATALOGUE, found.role(role), tools=tools)
    return versioned(Preview.model_validate(shown), version)


def _given(body: RoleChange) -> dict[str, Any]:
    """Return the fields that a body names; null means not named."""
    return body.model_dump(exclude_none=True, exclude={"name"})


def _body(organization: Organization, role: Role) -> RoleBody:
    users = list(organization.users_with_role(role.name))
    return RoleBody.model_validate({"name": role.name, **role_fields(role), "users": users})
