"""PATCH: operations on a resource, in the dialects of Okta and Entra.

Okta sends `{"op": "replace", "value": {"active": false}}`; Entra capitalizes `op`, names the attribute by a path, as in
`emails[type eq "work"].value` or `urn:...:User:active`, writes booleans as texts, and removes members by a value.
Source: https://www.rfc-editor.org/rfc/rfc7644#section-3.5.2
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcpist.errors import InvalidRequest
from rest_api.scim.filters import Equality, parse, passes
from rest_api.scim.resources import CORE, Resource, attributes_of, find_attribute, read_value

MAX_PATCHES = 200
PATCHES = ("add", "replace", "remove")
_PATH = re.compile(
    r"(?:(urn:[\w.:-]{1,200}):)?([A-Za-z][\w$-]{0,100})(?:\[(.{1,2000})\])?(?:\.([A-Za-z$][\w$-]{0,100}))?"
)


@dataclass(frozen=True, slots=True)
class PatchTarget:
    """The attribute that an operation changes."""

    attribute: Mapping[str, Any]
    chosen: Sequence[Equality] | None
    """Which of its values are meant; None for all."""
    part: Mapping[str, Any] | None
    """The part of each value; None for the whole."""


def apply(kind: str, resource: Resource, body: Mapping[str, Any]) -> Resource:
    """Return a resource after the operations of a request."""
    operations = next((value for name, value in body.items() if name.lower() == "operations"), None)
    if not isinstance(operations, list) or not 1 <= len(operations) <= MAX_PATCHES:
        raise InvalidRequest(field="operations", problem=f"they are a list of 1 to {MAX_PATCHES}")
    changed = dict(resource)
    for operation in operations:
        op = str(operation.get("op", "")).lower() if isinstance(operation, dict) else ""
        if op not in PATCHES:
            raise InvalidRequest(field="op", problem=f"it is one of {', '.join(PATCHES)}")
        path, value = operation.get("path"), operation.get("value")
        if path is None and (op == "remove" or not isinstance(value, Mapping)):
            raise InvalidRequest(
                field="path", problem="an operation has a path, or an object of attributes as its value"
            )
        for name, inner in [(path, value)] if path is not None else value.items():
            if target := _target(kind, name):
                _change(changed, op, target, inner)
    return changed


def _target(kind: str, path: Any) -> PatchTarget | None:
    """Return the target of a path; None for an attribute that is not kept, or that only we write."""
    found = _PATH.fullmatch(path) if isinstance(path, str) else None
    if found is None:
        raise InvalidRequest(
            field="path", problem="it is no attribute, such as name.givenName or members[value eq ...]"
        )
    schema, name, chosen, part_name = found.groups()
    attribute = find_attribute(name, attributes_of(kind)) if schema in {None, f"{CORE}:{kind}"} else None
    if attribute is None or attribute["mutability"] == "readOnly":
        return None
    parts = attribute.get("subAttributes", ())
    part = find_attribute(part_name, parts) if part_name else None
    if part_name and part is None:
        return None
    if bool(chosen) > attribute["multiValued"] or (part and attribute["multiValued"] and not chosen):
        raise InvalidRequest(field="path", problem=f"{path} names no single value")
    return PatchTarget(attribute, parse(chosen, parts) if chosen else None, part)


def _change(resource: Resource, op: str, target: PatchTarget, value: Any) -> None:
    """Change the attribute of a resource that a path names; a required one cannot be removed."""
    attribute, changed = target.attribute, None
    if attribute["multiValued"]:
        changed = read_value(attribute, _changed_values(resource.get(attribute["name"]) or [], op, target, value))
    elif attribute["type"] == "complex" and (target.part or op != "remove"):
        sent = {target.part["name"]: None if op == "remove" else value} if target.part else value
        changed = read_value(
            attribute, {**resource.get(attribute["name"], {}), **sent} if isinstance(sent, dict) else sent
        )
    elif op != "remove":
        changed = read_value(attribute, value)
    if changed is None and attribute["required"]:
        raise InvalidRequest(field=attribute["name"], problem="it is required")
    resource[attribute["name"]] = changed


def _changed_values(present: list[Resource], op: str, target: PatchTarget, value: Any) -> list[Resource]:
    """Return the values of an attribute after an operation on all of them, or on those that a filter chooses."""
    if target.chosen is None:
        sent = read_value(target.attribute, value) or []
        if op == "remove":
            removed = {one["value"] for one in sent}
            return [one for one in present if value is not None and one["value"] not in removed]
        return [*(present if op == "add" else ()), *sent]
    matching = [one for one in present if passes(target.chosen, one)]
    others = [one for one in present if not passes(target.chosen, one)]
    part = target.part["name"] if target.part else ""
    if op == "remove":
        return others if part in {"", "value"} else [*others, *({**one, part: None} for one in matching)]
    sent = {part: value} if part else value
    if not isinstance(sent, dict):
        raise InvalidRequest(field="value", problem=f"a value of {target.attribute['name']} is an object")
    # A value that is not there is made: Entra adds an address to `emails[type eq "work"].value`.
    return [*others, *({**one, **sent} for one in matching or [{one.path[0]: one.value for one in target.chosen}])]
