"""The schema of policies, generated from the tools: a misspelt name is an error when they are saved."""

import json
from collections.abc import Iterable
from typing import Any

from mcpist.policies.argument_types import CedarType, argument_type
from mcpist.policies.facts import POLICY_ADMINISTRATION
from mcpist.tools.declare.tool import ASKING, Tool

_STRING, _LONG, _BOOLEAN = {"type": "String"}, {"type": "Long"}, {"type": "Boolean"}
_STRINGS = {"type": "Set", "element": _STRING}


def _record(**attributes: CedarType) -> CedarType:
    return {"type": "Record", "attributes": attributes}


FACTS: dict[str, CedarType] = {
    "client": _STRING,
    "batch": _BOOLEAN,
    "time": _record(hour=_LONG, minute=_LONG, weekday=_LONG),
    "before": {"type": "Set", "element": {"type": "Entity", "name": "Action"}},
    "recent": _record(writes=_LONG, destroys=_LONG, uses=_LONG),
    "domains": _STRINGS,
    "labels": _STRINGS,
    "target": _STRINGS,
}
"""The facts of every use, besides its arguments."""
_ENTITIES: dict[str, Any] = {
    "User": {"memberOfTypes": ["Role"], "shape": _record(admin=_BOOLEAN)},
    "Role": {},
    "Account": {"memberOfTypes": ["Service"]},
    "Service": {},
}


def schema_of(tools: Iterable[Tool]) -> str:
    """Return Cedar's JSON schema for uses of tools: an action each, in the groups of its module and its effect."""
    actions: dict[str, Any] = {"reads": {}, "writes": {}, "mcpist.*": {}}
    actions |= {effect: _members("writes") for effect in sorted(ASKING)}
    actions[POLICY_ADMINISTRATION] = _members("mcpist.*") | _applies({})
    for tool in tools:
        group = f"{tool.module}.*"
        actions.setdefault(group, {})
        types = {name: argument_type(tool.input_schema, name) for name in tool.input_schema.get("properties", {})}
        known = {name: kind for name, kind in types.items() if kind}
        actions[f"{tool.module}.{tool.name}"] = _members(group, tool.effect) | _applies(known)
    return json.dumps({"": {"entityTypes": _ENTITIES, "actions": actions}})


def _members(*groups: str) -> dict[str, Any]:
    return {"memberOf": [{"id": group} for group in groups]}


def _applies(arguments: dict[str, CedarType]) -> dict[str, Any]:
    context = _record(args=_record(**arguments), **FACTS)
    return {"appliesTo": {"principalTypes": ["User"], "resourceTypes": ["Account"], "context": context}}
