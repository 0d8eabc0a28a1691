"""Changes of a data source's properties that lose no value."""

from collections.abc import Mapping
from typing import Any

from mcpist.errors import InvalidRequest
from mcpist_services.notion.properties import new_property
from mcpist_services.notion.rich_text import Json

_CHOICES = {"select", "multi_select"}


def schema_changes(known: Mapping[str, Json], given: Mapping[str, Any], names: Mapping[str, str]) -> Json:
    """Return new properties, more options of known ones, and new names, in Notion's format."""
    changed = {name: _change(name, known.get(name), each) for name, each in given.items()}
    for name, new in names.items():
        if name not in known:
            raise InvalidRequest(
                field="rename", problem=f'there is no property "{name}"; there are: {", ".join(known)}'
            )
        changed[name] = changed.get(name, {}) | {"name": new}
    return changed


def _change(name: str, present: Json | None, given: Any) -> Json:
    if present is None:
        return new_property(name, given)
    if isinstance(given, dict):
        return given
    kind = present["type"]
    if not isinstance(given, list) or kind not in _CHOICES:
        problem = (
            f'"{name}" is a {kind} already, and another type could lose values: rename it, or add another property'
        )
        raise InvalidRequest(field="properties", problem=problem)
    # Notion removes the options that a change leaves out.
    options = [{"id": option["id"], "name": option["name"]} for option in present[kind]["options"]]
    added = [{"name": option} for option in given if option not in [each["name"] for each in options]]
    return {kind: {"options": [*options, *added]}}
