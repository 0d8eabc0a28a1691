"""`mcpist org`: organizations, the tools that they switch off, and whole ones as YAML."""

import argparse

from infra.cli.account import stack
from infra.cli.administration import apply_change, edit_organization, organization_of, to_result
from infra.cli.document import CommandResult
from infra.cli.inputs import text_of
from infra.cli.organization_yaml import parse_organization, plain, with_line, write
from mcpist.errors import InvalidRequest
from mcpist.people import directory
from mcpist.people.organization import Organization


def org(options: argparse.Namespace) -> CommandResult:
    """What the action brings."""
    if options.action == "list":
        return _listed(options)
    if options.action == "import":
        return _imported(options)
    with organization_of(options) as organization:
        match options.action:
            case "create":
                new = Organization(organization, options.name, options.disabled)
                return apply_change(options, lambda dry_run: directory.create(new, dry_run=dry_run))
            case "set":
                return edit_organization(options, organization, lambda before: _changed(before, options))
            case "export":
                found = directory.read(organization)
                text = write(found, options.file)
                facts = {"organization": organization, "roles": len(found.roles), "users": len(found.users)}
                return CommandResult([options.file or text], facts, drawing="" if options.file else text.rstrip())
            case _:
                return to_result(plain(directory.read(organization)))


def _listed(options: argparse.Namespace) -> CommandResult:
    with stack(options.stack, options.profile, options.region):
        found = [directory.read(organization) for organization in directory.organizations()]
    rows = [
        {
            "organization": one.id,
            "name": one.name,
            "roles": len(one.roles),
            "users": len(one.users),
            "administrators": list(one.administrators),
        }
        for one in found
    ]
    return to_result({"organizations": rows})


def _imported(options: argparse.Namespace) -> CommandResult:
    new, node = parse_organization(text_of(options.file))
    with stack(options.stack, options.profile, options.region):
        try:
            return apply_change(options, lambda dry_run: directory.replace_organization(new, dry_run=dry_run))
        except InvalidRequest as error:
            raise with_line(error, node) from None


def _changed(before: Organization, options: argparse.Namespace) -> Organization:
    enable = getattr(options, "enable", ())
    for mask in enable:
        if mask not in before.disabled:
            known = ", ".join(before.disabled) or "none"
            raise InvalidRequest(field="enable", problem=f'"{mask}" is no mask that is switched off ({known})')
    disabled = [mask for mask in before.disabled if mask not in enable]
    disabled += getattr(options, "disable", ())
    name = getattr(options, "name", before.name)
    return Organization(before.id, name, tuple(dict.fromkeys(disabled)), before.roles, before.users)
