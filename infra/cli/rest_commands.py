"""Commands that are one request of the REST API, whose options are the fields of its body and whose result is YAML."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict
from inspect import Parameter, Signature
from typing import Annotated, Any

import yaml
from typer import Option

from infra.cli.document import CommandResult
from infra.cli.options import DryRun, WithGrants, given
from infra.cli.rest_client import Access, part
from infra.cli.table import render_table

MAX_SHOWN_TOOLS = 10  # of those that a change gives or takes; of more a terminal shows their modules

type Command = Callable[..., CommandResult]

OPTIONS = {"dry_run": DryRun, "with_grants": WithGrants}
CHANGE = tuple(OPTIONS)
"""The options of a change that can take accounts from people."""


def one_request(
    method: str,
    path: str,
    argument: Any = None,
    *options: str,
    fields: type[Any] | None = None,
    body: Mapping[str, Any] | None = None,
    own: bool = False,
    paged: bool = False,
) -> Command:
    """Return the command that is one request; `{}` in the path is its argument.

    The fields of the dataclass `fields` are options: those that are given are the body. The `options` are names of
    OPTIONS. With `own` beside an `up` its user acts; what is `paged` is read to the last page.
    """

    def run(access: Access, name_or_id: str = "", named: Any = None, **how: bool) -> CommandResult:
        session, place = access.session(own=own), path.format(part(name_or_id))
        content = given(**asdict(named)) if named else body
        return to_result(session.everything(place) if paged else session.change(method, place, content, **how))

    kinds = {"access": Access} | ({"name_or_id": Annotated[str, argument]} if argument else {})
    kinds |= {"named": fields} if fields else {}
    places = [Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind) for name, kind in kinds.items()]
    places += [Parameter(name, Parameter.KEYWORD_ONLY, annotation=OPTIONS[name], default=False) for name in options]
    # typer reads the options from the signature.
    run.__signature__ = Signature(places)  # type: ignore[attr-defined]
    return run


def previews(noun: str, argument: Any) -> Command:
    """Return the command that shows the tools that a user or a role sees."""

    def preview(
        access: Access, name: str = argument, tools: Annotated[bool, Option("--tools", help="Name every tool.")] = False
    ) -> CommandResult:
        found = access.session().get(f"/v1/{noun}s/{part(name)}/preview", tools=tools)
        return to_preview({noun: name, **found})

    return preview


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
