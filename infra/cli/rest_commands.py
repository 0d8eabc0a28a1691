"""Commands that are one request of the REST API, whose options are the fields of its body and whose result is YAML."""

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any

import yaml
from typer import Option

from infra.cli.document import CommandResult
from infra.cli.options import DryRun, WithGrants, given
from infra.cli.rest_client import Access, part
from infra.cli.table import render_table

MAX_SHOWN_TOOLS = 10  # of those that a change gives or takes; of more a terminal shows their modules

type Command = Callable[..., CommandResult]


def shows_all(path: str) -> Command:
    """Return the command that shows all that a path lists."""

    def show_all(access: Access) -> CommandResult:
        return to_result(access.session().everything(path))

    return show_all


def shows(path: str, argument: Any, *, own: bool = False) -> Command:
    """Return the command that shows the thing of a name; with `own` beside an `up` as its user sees it."""

    def show(access: Access, name: str = argument) -> CommandResult:
        return to_result(access.session(own=own).get(f"{path}/{part(name)}"))

    return show


def creates(path: str, fields: type[Any]) -> Command:
    """Return the command that adds a thing to a path; its options are the fields of a dataclass."""

    # typer reads the options from the annotation, which is a variable for mypy.
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
        target, body = f"{path}/{part(name_or_id)}", given(**asdict(named))
        with_grants = bool(body.pop("with_grants", False))
        changed = access.session().change("PATCH", target, body, dry_run=dry_run, with_grants=with_grants)
        return to_result(changed)

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


def to_result(facts: dict[str, Any]) -> CommandResult:
    """Return facts as JSON for programs and as YAML for a terminal."""
    # Programs get every tool by name; on a terminal a role of 1,000 tools would hide everything else.
    effects = [_shortened(one) for one in facts.get("effects") or ()]
    shown = {**facts, "effects": effects} if effects else facts
    return CommandResult(metadata=facts, drawing=dump(shown).rstrip())


def to_preview(facts: dict[str, Any]) -> CommandResult:
    """Return the tools of each module that somebody sees, for a terminal as a table where they are not named."""
    if any(module["names"] for module in facts["modules"]):
        return to_result(facts)
    rows = [(one["module"], f"{one['tools']} of {one['of']}") for one in facts["modules"]]
    return CommandResult(metadata=facts, drawing=render_table(("module", "tools"), rows))


def _shortened(effect: dict[str, Any]) -> dict[str, Any]:
    """Return an effect with the numbers of tools by module in place of long lists."""
    return {
        name: [
            f"{module}: {number} tools" for module, number in Counter(tool.rpartition(".")[0] for tool in tools).items()
        ]
        if name in {"appear", "vanish"} and len(tools) > MAX_SHOWN_TOOLS
        else tools
        for name, tools in effect.items()
    }


def dump(value: Any) -> str:
    """Return a value as YAML for people: short lists in one line, the order kept."""
    return str(
        yaml.dump(
            value, Dumper=_OrganizationDumper, allow_unicode=True, sort_keys=False, default_flow_style=None, width=110
        )
    )


class _OrganizationDumper(yaml.SafeDumper):
    """Escapes texts with unprintable characters, since some line breaks would be read as others."""

    def represent_str(self, text: str) -> yaml.ScalarNode:
        """Return the node of a text."""
        style = None if text.isprintable() else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", text, style)


_OrganizationDumper.add_representer(str, _OrganizationDumper.represent_str)
