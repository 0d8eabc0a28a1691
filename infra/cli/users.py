"""`mcpist user`: the people of an organization, and what they see."""

import argparse
from dataclasses import replace
from typing import Any

from infra.cli.administration import edit_organization, organization_of, to_result
from infra.cli.document import CommandResult
from infra.cli.effects import preview_tools
from infra.cli.organization_yaml import plain_user
from mcpist.caller import Subject
from mcpist.errors import InvalidRequest
from mcpist.people import directory
from mcpist.people.organization import Organization, User

FIELDS = {"name": "name", "system_role": "system_role", "roles": "roles", "locale": "user_locale"}


def user(options: argparse.Namespace) -> CommandResult:
    """What the action brings."""
    with organization_of(options) as organization:
        match options.action:
            case "list":
                found = directory.read(organization)
                rows = [_row(one) for one in found.users.values()]
                return to_result({"organization": organization, "users": rows})
            case "show":
                found = directory.read(organization)
                return to_result({"organization": organization, **_row(found.user(options.id))})
            case "preview":
                found = directory.read(organization)
                roles = [found.roles[name] for name in found.user(options.id).roles]
                preview = preview_tools(found, *roles, tools=options.tools)
                return to_result({"organization": organization, "user": options.id, **preview})
            case "remove":
                return edit_organization(options, organization, lambda before: before.without_user(options.id))
            case _:
                return edit_organization(options, organization, lambda before: before.with_user(_user(before, options)))


def _user(before: Organization, options: argparse.Namespace) -> User:
    """The user as it shall be: a new one, or the present one with what was named."""
    given = {field: getattr(options, name) for field, name in FIELDS.items() if hasattr(options, name)}
    if options.action == "set":
        present = before.user(options.id)
        return replace(present, **given, subject=_subject(options, present.subject.issuer, present.subject.sub))
    if options.id in before.users:
        raise InvalidRequest(field="user", problem=f'there is a user "{options.id}" already')
    return User(options.id, subject=_subject(options, _issuer(before)), **given)


def _subject(options: argparse.Namespace, issuer: str, sub: str = "") -> Subject:
    """What was named, or else these; an issuer's slash at the end says nothing."""
    return Subject(getattr(options, "issuer", issuer).rstrip("/"), getattr(options, "sub", sub))


def _issuer(organization: Organization) -> str:
    """The issuer that all users have in common, so that only the first one's must be named."""
    issuers = {user.subject.issuer for user in organization.users.values()}
    return issuers.pop() if len(issuers) == 1 else ""


def _row(user: User) -> dict[str, Any]:
    return {"user": user.id, **plain_user(user)}
