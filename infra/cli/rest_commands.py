"""Commands that are one request of the REST API, and whose options are the fields of its body."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any

from typer import Option

from infra.cli.document import CommandResult
from infra.cli.options import DryRun, WithGrants, given
from infra.cli.organization_yaml import to_preview, to_result
from infra.cli.rest_client import Access, part

type Command = Callable[..., CommandResult]


def shows_all(path: str) -> Command:
    """Return the command that shows what a path has."""

    def show_all(access: Access) -> CommandResult:
        return to_result(access.session().get(path))

    return show_all


def shows(path: str, argument: Any, *, own: bool = False) -> Command:
    """Return the command that shows the thing of a name; with `own` beside an `up` as its user sees it."""

    def show(access: Access, name: str = argument) -> CommandResult:
        return to_result(access.session(own=own).get(f"{path}/{part(name)}"))

    return show


def creates(path: str, fields: type[Any]) -> Command:
    """Return the command that adds a thing to a path; its options are the fields of a dataclass."""

    def create(access: Access, named: fields, dry_run: DryRun = False) -> CommandResult:  # type: ignore[valid-type]
        return to_result(access.session().change("POST", path, given(**asdict(named)), dry_run=dry_run))

    return create


def changes(path: str, argument: Any, fields: type[Any]) -> Command:
    """Return the command that changes of a thing only the fields that are named."""

    def change(
        access: Access,
        name_or_id: str = argument,
        *,
        named: fields,  # type: ignore[valid-type]
        dry_run: DryRun = False,
    ) -> CommandResult:
        target = f"{path}/{part(name_or_id)}"
        return to_result(access.session().change("PATCH", target, given(**asdict(named)), dry_run=dry_run))

    return change


def previews(noun: str, argument: Any) -> Command:
    """Return the command that shows the tools that a user or a role sees."""

    def preview(
        access: Access, name: str = argument, tools: Annotated[bool, Option("--tools", help="Name every tool.")] = False
    ) -> CommandResult:
        found = access.session().get(f"/v1/{noun}s/{part(name)}/preview", tools=tools)
        return to_preview({noun: name, **found})

    return preview


def switches(path: str, argument: Any, *, enabled: bool) -> Command:
    """Return the command that switches a thing on or off for the whole organization."""

    def switch(access: Access, name: str = argument, dry_run: DryRun = False) -> CommandResult:
        target = f"{path}/{part(name)}"
        return to_result(access.session().change("PATCH", target, {"enabled": enabled}, dry_run=dry_run))

    return switch


def removes(path: str, argument: Any) -> Command:
    """Return the command that removes a user or a role, and their accounts if that is said."""

    def remove(
        access: Access, name: str = argument, dry_run: DryRun = False, with_grants: WithGrants = False
    ) -> CommandResult:
        target = f"{path}/{part(name)}"
        return to_result(access.session().change("DELETE", target, dry_run=dry_run, with_grants=with_grants))

    return remove
