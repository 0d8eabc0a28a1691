"""`mcpist org`: organizations, the tools that they switch off, and whole ones as YAML."""

import argparse

from infra.cli.account import stack
from infra.cli.administration import directory_of, edited, made, shown
from infra.cli.document import Done
from infra.cli.sheet import placed, plain, read, write
from infra.cli.texts import text_of
from mcpist.errors import InvalidRequest
from mcpist.people import directory
from mcpist.people.organization import Organization


def org(options: argparse.Namespace) -> Done:
    """What the action brings."""
    if options.action == "list":
        return _listed(options)
    if options.action == "import":
        return _imported(options)
    with directory_of(options) as organization:
        match options.action:
            case "create":
                new = Organization(organization, options.name, options.disabled)
                return made(options, lambda rehearsal: directory.create(new, rehearsal=rehearsal))
            case "set":
                return edited(options, organization, lambda before: _changed(before, options))
            case "export":
                found = directory.read(organization)
                text = write(found, options.file)
                facts = {"organization": organization, "roles": len(found.roles), "users": len(found.users)}
                return Done([options.file or text], facts, drawing="" if options.file else text.rstrip())
            case _:
                return shown(plain(directory.read(organization)))


def _listed(options: argparse.Namespace) -> Done:
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
    return shown({"organizations": rows})


def _imported(options: argparse.Namespace) -> Done:
    new, node = read(text_of(options.file))
    with stack(options.stack, options.profile, options.region):
        try:
            return made(options, lambda rehearsal: directory.replace_organization(new, rehearsal=rehearsal))
        except InvalidRequest as error:
            raise placed(error, node) from None


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
