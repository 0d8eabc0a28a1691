"""YAML: an organization, which `org export` writes and `org import` reads, and facts for a terminal.

Every scalar is read as text: `no` and `007` become neither a boolean nor a number.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import yaml
from pydantic import ValidationError

from infra.cli.document import CommandError, CommandResult
from infra.cli.table import render_table
from mcpist.errors import InvalidRequest
from mcpist.people.change import fields_of
from mcpist.people.documents import OrganizationDocument
from mcpist.people.organization import Organization

MAX_SHOWN_TOOLS = 10  # of those that a change gives or takes; of more a terminal shows their modules


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


class _OrganizationDumper(yaml.SafeDumper):
    """Escapes texts with unprintable characters, since some line breaks would be read as others."""

    def represent_str(self, text: str) -> yaml.ScalarNode:
        """Return the node of a text."""
        style = None if text.isprintable() else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", text, style)


_OrganizationDumper.add_representer(str, _OrganizationDumper.represent_str)


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


def dump(value: Any) -> str:
    """Return a value as YAML for people: short lists in one line, the order kept."""
    return str(
        yaml.dump(
            value, Dumper=_OrganizationDumper, allow_unicode=True, sort_keys=False, default_flow_style=None, width=110
        )
    )


def write(organization: Organization, file: str) -> str:
    """Return an organization as YAML, and write it to a file if one is named."""
    text = dump(fields_of(organization))
    if file:
        try:
            with open(file, "w", encoding="utf-8") as out:
                out.write(text)
        except OSError as error:
            raise CommandError("FILE_NOT_FOUND", f"{file}: {error}", "Name a file that can be written.") from None
    return text


def _problem(place: Iterable[str | int], problem: str, node: yaml.Node) -> InvalidRequest:
    field = ".".join(map(str, place)) or "file"
    return InvalidRequest(field=field, problem=problem).with_details(line=line_of(node, field))


def line_of(node: yaml.Node, path: str) -> int:
    """Return the line of the key or element at a path, in which ids may have dots themselves."""
    line, found = node.start_mark.line + 1, True
    while path and found:
        found = False
        for name, key, value in _children(node):
            if path == name or path.startswith(f"{name}."):
                line, node, path, found = key.start_mark.line + 1, value, path[len(name) + 1 :], True
                break
    return line


def _children(node: yaml.Node) -> list[tuple[str, yaml.Node, yaml.Node]]:
    match node:
        case yaml.MappingNode():
            return [(str(key.value), key, value) for key, value in node.value]
        case yaml.SequenceNode():
            return [(str(number), value, value) for number, value in enumerate(node.value)]
        case _:
            return []


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
