"""`mcpist user`: the people of an organization, and the tools that they see."""

from dataclasses import replace
from typing import Annotated, Any, Literal

from typer import Argument, Option

from infra.cli.administration import OrgOption, edit_organization, organization_in, to_result
from infra.cli.document import CommandResult
from infra.cli.effects import preview_tools
from infra.cli.options import DryRun, Target, WithGrants, command_group, given, items_of, with_target
from infra.cli.organization_yaml import plain_user
from mcpist.caller import Subject
from mcpist.errors import InvalidRequest
from mcpist.people import directory
from mcpist.people.organization import Organization, User

UserId = Annotated[str, Argument(metavar="ID", help="The user's id.")]
NAME = Option(metavar="NAME", help="The user's name, for people.")
SUB = Option(metavar="SUB", help="The user's `sub` at the issuer, as in access tokens.")
Issuer = Annotated[
    str | None, Option(metavar="URL", help="The user's OIDC issuer. [default for a new user: that of all others]")
]
SystemRole = Annotated[
    Literal["admin", "user"] | None, Option(help="An admin administers the organization. [default: user]")
]
Roles = Annotated[str | None, Option(metavar="A,B", help="The user's roles, in the order in which they count.")]
UserLocale = Annotated[Literal["en", "ja"] | None, Option(help="Language of errors. [default: en]")]

user = command_group()


@user.command("list")
@with_target
def list_users(target: Target, organization: OrgOption = None) -> CommandResult:
    """List the users."""
    with organization_in(target, organization) as name:
        users = directory.read(name).users.values()
    return to_result({"organization": name, "users": [_row(user) for user in users]})


@user.command("create")
@with_target
def create_user(
    target: Target,
    user_id: UserId,
    name: Annotated[str, NAME],
    sub: Annotated[str, SUB],
    issuer: Issuer = None,
    system_role: SystemRole = None,
    roles: Roles = None,
    locale: UserLocale = None,
    dry_run: DryRun = False,
    organization: OrgOption = None,
) -> CommandResult:
    """Add a user."""
    fields = given(name=name, system_role=system_role, roles=items_of(roles), locale=locale)

    def add(before: Organization) -> Organization:
        if user_id in before.users:
            raise InvalidRequest(field="user", problem=f'there is a user "{user_id}" already')
        return before.with_user(User(user_id, subject=_subject(issuer or _common_issuer(before), sub), **fields))

    with organization_in(target, organization) as named:
        return edit_organization(named, add, dry_run=dry_run)


@user.command("set")
@with_target
def change_user(
    target: Target,
    user_id: UserId,
    name: Annotated[str | None, NAME] = None,
    sub: Annotated[str | None, SUB] = None,
    issuer: Issuer = None,
    system_role: SystemRole = None,
    roles: Roles = None,
    locale: UserLocale = None,
    dry_run: DryRun = False,
    organization: OrgOption = None,
) -> CommandResult:
    """Change a user: only what is named changes."""
    fields = given(name=name, system_role=system_role, roles=items_of(roles), locale=locale)

    def change(before: Organization) -> Organization:
        present = before.user(user_id)
        subject = _subject(
            present.subject.issuer if issuer is None else issuer, present.subject.sub if sub is None else sub
        )
        return before.with_user(replace(present, **fields, subject=subject))

    with organization_in(target, organization) as named:
        return edit_organization(named, change, dry_run=dry_run)


@user.command("show")
@with_target
def show_user(target: Target, user_id: UserId, organization: OrgOption = None) -> CommandResult:
    """Show a user."""
    with organization_in(target, organization) as name:
        return to_result({"organization": name, **_row(directory.read(name).user(user_id))})


@user.command("preview")
@with_target
def preview_user(
    target: Target,
    user_id: UserId,
    tools: Annotated[bool, Option("--tools", help="Name every tool.")] = False,
    organization: OrgOption = None,
) -> CommandResult:
    """Show the tools that a user sees."""
    with organization_in(target, organization) as name:
        found = directory.read(name)
    roles = [found.roles[role] for role in found.user(user_id).roles]
    return to_result({"organization": name, "user": user_id, **preview_tools(found, *roles, tools=tools)})


@user.command("remove")
@with_target
def remove_user(
    target: Target,
    user_id: UserId,
    dry_run: DryRun = False,
    with_grants: WithGrants = False,
    organization: OrgOption = None,
) -> CommandResult:
    """Remove a user."""
    with organization_in(target, organization) as name:
        return edit_organization(
            name, lambda before: before.without_user(user_id), dry_run=dry_run, with_grants=with_grants
        )


def _subject(issuer: str, sub: str) -> Subject:
    """Return a subject; a slash at the end of an issuer has no meaning."""
    return Subject(issuer.rstrip("/"), sub)


def _common_issuer(organization: Organization) -> str:
    """Return the issuer that all users share, so that only the first user's must be named."""
    issuers = {user.subject.issuer for user in organization.users.values()}
    return issuers.pop() if len(issuers) == 1 else ""


def _row(user: User) -> dict[str, Any]:
    return {"user": user.id, **plain_user(user)}
