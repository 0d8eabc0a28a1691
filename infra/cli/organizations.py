"""`mcpist org`: organizations, the tools that they switch off, and whole organizations as YAML.

Every scalar of YAML is read as text: `no` and `007` become neither a boolean nor a number.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import ValidationError
from typer import Argument, Option

from infra.cli.document import CommandError, CommandResult
from infra.cli.grant_transfer import StoredAccounts
from infra.cli.options import MASKS, DryRun, Items, Target, WithGrants, command_group, given, items, text_of
from infra.cli.rest_client import Access
from infra.cli.rest_commands import dump, one_request, to_result
from infra.cli.restored_organization import restore_organization
from infra.cli.stacks import last_up
from infra.cli.target import opened
from infra.cli.whole_organization import archive_organization, delete_organization
from mcpist.caller import Subject
from mcpist.errors import GrantsRemain, InvalidRequest
from mcpist.people.administration import Administration, operator
from mcpist.people.change import ChangeOptions, fields_of
from mcpist.people.documents import OrganizationDocument
from mcpist.people.organization import Organization, User
from mcpist.tools.access.effects import describe_change
from mcpist_services.catalogue import CATALOGUE

OrgArgument = Annotated[str | None, Argument(metavar="ORG", help="[default: your only organization]")]
NAME = Option(metavar="NAME", help="The organization's name, for people.")

org = command_group()


org.command("list", help="List your organizations, with your user id and roles in each.")(
    one_request("GET", "/v1/organizations")
)


@org.command("create")
def create_organization(
    target: Target,
    organization: Annotated[str, Argument(metavar="ORG", help="The organization's id.")],
    administrator: Annotated[str, Option("--administrator", metavar="ID", help="The first administrator's user id.")],
    sub: Annotated[str, Option(metavar="SUB", help="The administrator's `sub` at the issuer, as in access tokens.")],
    name: Annotated[str, NAME] = "",
    issuer: Annotated[
        str, Option(metavar="URL", help="The administrator's OIDC issuer. [default: the last `up`'s]")
    ] = "",
    restore: Annotated[
        bool, Option("--restore", help="Give an existing organization this administrator, if none can log in.")
    ] = False,
    dry_run: DryRun = False,
) -> CommandResult:
    """Create an organization with its first administrator, with your rights in AWS."""
    if not issuer and target.deployed:
        raise CommandError("VALIDATION_ERROR", "No issuer was named.", "Name it with --issuer: `iss` in access tokens.")
    issuer = issuer or str(last_up("name one with --issuer")["issuer"])
    first = User(administrator, administrator, Subject(issuer.rstrip("/"), sub), "admin")
    with opened(target):
        caller = operator(organization)
        administration = Administration(caller, "", StoredAccounts(organization))
        if restore:
            options = ChangeOptions(dry_run=dry_run)
            edit = partial(_with_administrator, first)
            try:
                applied = administration.change("organization.restore", f"users.{first.id}", edit, options)
            except GrantsRemain as error:
                hint = "Name another id, which no user has: that administrator can then change this user --with-grants."
                raise CommandError(error.code, str(error), hint) from None
        else:
            new = Organization(organization, name or organization, users={first.id: first})
            applied = administration.create(new, dry_run=dry_run)
        return to_result(describe_change(applied, CATALOGUE))


def _with_administrator(administrator: User, before: Organization) -> Organization:
    """Make a user, known or new, an administrator with this subject."""
    known = before.users.get(administrator.id, administrator)
    able = replace(known, system_role="admin", acceptance="accepted", deactivated_at=0)
    return before.with_user(replace(able, subject=administrator.subject))


@org.command("show")
def show_organization(access: Access, chosen: OrgArgument = None) -> CommandResult:
    """Show an organization with its roles and users."""
    return to_result(access.session(organization=chosen).get("/v1/organization"))


@org.command("set")
def change_organization(
    access: Access,
    chosen: OrgArgument = None,
    name: Annotated[str | None, NAME] = None,
    disable: Annotated[Items | None, items(f"Switch these tools off for everybody: {MASKS}.")] = None,
    enable: Annotated[Items | None, items("Remove these masks from the tools that are switched off.")] = None,
    undoable: Annotated[
        bool | None, Option("--undoable/--no-undoable", help="Whether what undoes each write is kept, for 30 days.")
    ] = None,
    dry_run: DryRun = False,
) -> CommandResult:
    """Change an organization; switch tools off and on for everybody in it."""
    body = given(name=name, disable=disable, enable=enable, undoable=undoable)
    session = access.session(organization=chosen)
    return to_result(session.change("PATCH", "/v1/organization", body, dry_run=dry_run))


@org.command("export")
def export_organization(
    access: Access,
    chosen: OrgArgument = None,
    file: Annotated[str, Option(metavar="FILE", help="The file to write. [default: print it]")] = "",
) -> CommandResult:
    """Write an organization as YAML."""
    document = access.session(organization=chosen).get("/v1/organization")
    found = OrganizationDocument.model_validate(document).to_organization()
    text = dump(fields_of(found))
    if file:
        try:
            Path(file).write_text(text, "utf-8")
        except OSError as error:
            raise CommandError("FILE_NOT_FOUND", f"{file}: {error}", "Name a file that can be written.") from None
    facts = {"organization": found.id, "roles": len(found.roles), "users": len(found.users)}
    wrote = f"wrote {file}: {len(found.roles)} roles, {len(found.users)} users"
    return CommandResult([file or text], facts, drawing=wrote if file else text.rstrip())


@org.command("import")
def import_organization(
    access: Access,
    file: Annotated[str, Argument(metavar="FILE", help="YAML as `export` writes it; - is standard input.")],
    dry_run: DryRun = False,
    with_grants: WithGrants = False,
) -> CommandResult:
    """Make an organization exactly what a file says."""
    new, node = parse_organization(text_of(file))
    session = access.session(organization=new.id)
    body = dict(fields_of(new))
    try:
        return to_result(session.change("PUT", "/v1/organization", body, dry_run=dry_run, with_grants=with_grants))
    except CommandError as error:
        if field := error.error["details"].get("field"):
            line = line_of(node, str(field))
            details = error.error["details"] | {"line": line}
            error.error |= {"message": f"Line {line}: {error.error['message']}", "details": details}
        raise


org.command("archive")(archive_organization)
org.command("delete")(delete_organization)
org.command("restore")(restore_organization)


def parse_organization(text: str) -> tuple[Organization, yaml.Node]:
    """Parse an organization; return it with the nodes in which `line_of` finds lines. InvalidRequest has the line."""
    try:
        loader = _StrictLoader(text)
        node = loader.get_single_node()
        plain = loader.construct_document(node) if node else None
    except yaml.MarkedYAMLError as error:
        place = {"line": error.problem_mark.line + 1} if error.problem_mark else {}
        raise InvalidRequest(field="file", problem=error.problem).with_details(**place) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise InvalidRequest(field="file", problem=error.reason).with_details(line=line) from None
    except RecursionError:
        raise InvalidRequest(field="file", problem="it is nested too deeply") from None
    if node is None or not isinstance(plain, dict):
        raise InvalidRequest(field="file", problem="it is not a mapping with an organization, roles and users")
    try:
        return OrganizationDocument.model_validate(plain).to_organization(), node
    except ValidationError as error:
        first, *others = (_problem(one["loc"], one["msg"], node) for one in error.errors())
        raise first.with_details(**({"problems": others} if others else {})) from None


class _StrictLoader(yaml.loader.BaseLoader):
    """Reads only texts, lists and mappings; a duplicate key is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return the mapping of a node."""
        known: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in known:
                problem = f"{key.value} is there twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            known.add(str(key.value))
        return super().construct_mapping(node, deep)


def _problem(place: Iterable[str | int], problem: str, node: yaml.Node) -> InvalidRequest:
    field = ".".join(map(str, place)) or "file"
    return InvalidRequest(field=field, problem=problem).with_details(line=line_of(node, field))


def line_of(node: yaml.Node, path: str, line: int = 0) -> int:
    """Return the line of the key or element at a path, in which ids may have dots; `line` is that of the node's key."""
    for name, key, value in _children(node) if path else ():
        if f"{path}.".startswith(f"{name}."):
            return line_of(value, path[len(name) + 1 :], key.start_mark.line + 1)
    return line or int(node.start_mark.line) + 1


def _children(node: yaml.Node) -> list[tuple[str, yaml.Node, yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        return [(str(key.value), key, value) for key, value in node.value]
    elements = node.value if isinstance(node, yaml.SequenceNode) else []
    return [(str(number), value, value) for number, value in enumerate(elements)]
