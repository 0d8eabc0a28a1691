"""Undos of imported tools: what a POST makes is undone by the DELETE of its path, and compared by the GET."""

from collections.abc import Iterator, Mapping

from mcpist.render.shows import shows, value_at
from mcpist.tools.declare.undo import ToolCall, Undo, values_of
from mcpist_services.described.identifiers import identifier, usual_id
from mcpist_services.described.overlay import Overlay, ToolRule, UndoRule
from mcpist_services.described.paths import skeleton, split
from mcpist_services.described.secrets import is_secret_name

type Named = tuple[str, ToolRule]


def with_undos(tools: Mapping[str, ToolRule]) -> dict[str, ToolRule]:
    """Return tools with the undos that their paths propose, each for a person to review."""
    places = {(rule.method, skeleton(rule.path.rstrip("/"))): (name, rule) for name, rule in tools.items()}
    found = dict(tools)
    for name, rule in tools.items():
        item = f"{skeleton(rule.path.rstrip('/'))}/{{}}"
        remove, read = places.get(("DELETE", item)), places.get(("GET", item))
        if (
            rule.method == "POST"
            and rule.effect == "writes"
            and remove
            and read
            and (undo := _undo(rule, remove, read))
        ):
            noted = (*rule.review, f"`{undo.tool}` is proposed as its undo")
            found[name] = rule.model_copy(update={"undo": undo, "review": noted})
    return found


def undo_of(overlay: Overlay, rule: ToolRule) -> Undo | None:
    """Return a rule's undo; None where it has none, where one of its tools is left out, and for what shows secrets."""
    stated = rule.undo
    if stated is None or rule.reveals or not {stated.tool, stated.read} <= overlay.tools.keys():
        return None
    fields = stated.fields
    return Undo(
        calls=lambda change: [ToolCall(stated.tool, values_of(change, stated.arguments))],
        read=stated.read,
        state=lambda json, _: {name: value_at(json, path) for name, path in fields.items()},
        after=lambda change: {name: change.value(f"answer.{path}") for name, path in fields.items()},
        creates=True,
    )


def _undo(rule: ToolRule, remove: Named, read: Named) -> UndoRule | None:
    """Return the undo of a creation; None where an id, or a field that both answers have, is not known."""
    wanted = [name for name, one in remove[1].parameters.items() if one.required]
    collection, parameter = split(remove[1].path)
    columns = _columns(rule)
    field = identifier(parameter, collection, columns) or usual_id(columns)
    own = {one.wire or name: name for name, one in rule.parameters.items() if one.place == "path"}
    wires = {name: remove[1].parameters[name].wire or name for name in wanted}
    known = {name: f"answer.{columns[field]}" for name in wanted if field and wires[name] == parameter}
    known |= {name: f"arguments.{own[wires[name]]}" for name in wanted if wires[name] in own}
    read_needs = {name for name, one in read[1].parameters.items() if one.required}
    fields = dict(_compared(rule, columns, _columns(read[1])))
    if known.keys() != set(wanted) or read_needs != set(wanted) or not fields:
        return None
    return UndoRule(tool=remove[0], read=read[0], arguments=known, fields=fields)


def _columns(rule: ToolRule) -> dict[str, str]:
    """Return the paths of an answer's columns by their last names."""
    before = f"{rule.rows}." if rule.rows else ""
    paths = [one.paths[0] for one in shows(*rule.shows).columns]
    return {path.rpartition(".")[2]: f"{before}{path}" for path in reversed(paths) if "[" not in path}


def _compared(rule: ToolRule, made: Mapping[str, str], read: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, one in rule.parameters.items():
        wire = one.wire or name
        if one.place == "body" and not is_secret_name(wire) and wire in made and made[wire] == read.get(wire):
            yield name, made[wire]
