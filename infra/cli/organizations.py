"""`mcpist org`: organizations, the tools that they switch off, and whole organizations as YAML."""

from typing import Annotated, Any

from typer import Argument, Option

from infra.cli.administration import administration, organization_in, to_report, to_result
from infra.cli.document import CommandResult
from infra.cli.inputs import text_of
from infra.cli.options import MASKS, DryRun, Target, WithGrants, command_group, items_of, with_target
from infra.cli.organization_yaml import parse_organization, with_line, write
from infra.cli.target import opened
from mcpist.errors import InvalidRequest
from mcpist.people import directory, edits
from mcpist.people.administration import ChangeOptions
from mcpist.people.organization import Organization, fields_of

OrgArgument = Annotated[str | None, Argument(metavar="ORG", help="[default: the only organization]")]
NAME = Option(metavar="NAME", help="The organization's name, for people.")

org = command_group()


@org.command("list")
@with_target
def list_organizations(target: Target) -> CommandResult:
    """List the organizations."""
    with opened(target):
        organizations = [directory.read(name) for name in directory.organizations()]
    return to_result({"organizations": [_row(organization) for organization in organizations]})


@org.command("create")
@with_target
def create_organization(
    target: Target,
    organization: Annotated[str, Argument(metavar="ORG", help="The organization's id.")],
    name: Annotated[str, NAME],
    disabled: Annotated[str, Option(metavar="A,B", help=f"Tools that are switched off for everybody: {MASKS}.")] = "",
    dry_run: DryRun = False,
) -> CommandResult:
    """Create an organization; then give it an administrator with `user create`."""
    new = Organization(organization, name, items_of(disabled) or ())
    with opened(target):
        return to_report(administration(organization).create(new, dry_run=dry_run))


@org.command("show")
@with_target
def show_organization(target: Target, organization: OrgArgument = None) -> CommandResult:
    """Show an organization with its roles and users."""
    with organization_in(target, organization) as name:
        return to_result(dict(fields_of(directory.read(name))))


@org.command("set")
@with_target
def change_organization(
    target: Target,
    organization: OrgArgument = None,
    name: Annotated[str | None, NAME] = None,
    disable: Annotated[str, Option(metavar="A,B", help=f"Switch these tools off for everybody: {MASKS}.")] = "",
    enable: Annotated[str, Option(metavar="A,B", help="Remove these masks from the tools that are switched off.")] = "",
    dry_run: DryRun = False,
) -> CommandResult:
    """Change an organization; switch tools off and on for everybody in it."""
    edit = edits.change_own_fields(name=name, disable=items_of(disable) or (), enable=items_of(enable) or ())
    with organization_in(target, organization) as named:
        options = ChangeOptions(dry_run=dry_run)
        return to_report(administration(named).change("organization.update", "organization", edit, options))


@org.command("export")
@with_target
def export_organization(
    target: Target,
    organization: OrgArgument = None,
    file: Annotated[str, Option(metavar="FILE", help="The file to write. [default: print it]")] = "",
) -> CommandResult:
    """Write an organization as YAML."""
    with organization_in(target, organization) as name:
        found = directory.read(name)
    text = write(found, file)
    facts = {"organization": name, "roles": len(found.roles), "users": len(found.users)}
    return CommandResult([file or text], facts, drawing="" if file else text.rstrip())


@org.command("import")
@with_target
def import_organization(
    target: Target,
    file: Annotated[str, Argument(metavar="FILE", help="YAML as `export` writes it; - is standard input.")],
    dry_run: DryRun = False,
    with_grants: WithGrants = False,
) -> CommandResult:
    """Make an organization exactly what a file says."""
    new, node = parse_organization(text_of(file))
    with opened(target):
        try:
            options = ChangeOptions(dry_run=dry_run, with_grants=with_grants)
            return to_report(administration(new.id).replace(new, options))
        except InvalidRequest as error:
            raise with_line(error, node) from None


def _row(organization: Organization) -> dict[str, Any]:
    return {
        "organization": organization.id,
        "name": organization.name,
        "roles": len(organization.roles),
        "users": len(organization.users),
        "administrators": list(organization.administrators),
    }
