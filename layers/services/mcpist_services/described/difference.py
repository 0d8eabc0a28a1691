"""Differences: what a new import changes in an overlay, one line each."""

from collections.abc import Iterator, Mapping
from typing import Any

from mcpist_services.described.overlay import Overlay, ToolRule

_WHOLE = ("title", "description", "version", "host", "security", "rate_limits", "category", "tags")
_PLAIN = ("description", "effect", "reveals", "content_type", "headers", "rows", "shows", "paging", "scopes")


def differences(before: Overlay | None, after: Overlay) -> list[str]:
    """Return what differs: `+ tool`, `- tool`, `~ tool: field`, and what the import left out."""
    if before is None:
        return [f"+ {name}: {rule.operation} ({rule.effect})" for name, rule in after.tools.items()]
    former, latter = ({rule.operation: (name, rule) for name, rule in one.tools.items()} for one in (before, after))
    lines = [f"+ {name}: {key} ({rule.effect})" for key, (name, rule) in latter.items() if key not in former]
    lines += [f"- {name}: {key}" for key, (name, _) in former.items() if key not in latter]
    for key in former.keys() & latter.keys():
        (old_name, old), (name, new) = former[key], latter[key]
        changed = [f"name was {old_name}"] * (name != old_name) + list(_changed(old, new))
        lines += [f"~ {name}: {change}" for change in changed]
    schemas = sorted(name for name in after.schemas if after.schemas[name] != before.schemas.get(name, {}))
    lines += [f"~ schema {name}" for name in schemas]
    lines += [f"~ {field}: {_brief(new)}" for field, new in _whole(before, after)]
    return sorted(lines, key=lambda line: ("+-~".index(line[0]), line))


def _whole(before: Overlay, after: Overlay) -> Iterator[tuple[str, Any]]:
    old, new = before.dump(), after.dump()
    return ((field, new.get(field)) for field in _WHOLE if old.get(field) != new.get(field))


def _changed(old: ToolRule, new: ToolRule) -> Iterator[str]:
    before, after = (one.model_dump(mode="json", by_alias=True, exclude_defaults=True) for one in (old, new))
    for field in _PLAIN:
        if before.get(field) != after.get(field):
            yield f"{field} {_brief(before.get(field))} -> {_brief(after.get(field))}"
    yield from _parameters(before.get("parameters", {}), after.get("parameters", {}))
    yield from (f"review: {reason}" for reason in new.review if reason not in old.review)


def _parameters(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for name in after.keys() - before.keys():
        yield f"parameter {name} added" + (", and required" if after[name].get("required") else "")
    for name in before.keys() - after.keys():
        yield f"parameter {name} removed"
    for name in before.keys() & after.keys():
        if before[name] != after[name]:
            required = after[name].get("required", False)
            changed = required != before[name].get("required", False)
            yield f"parameter {name} " + (f"is {'' if required else 'not '}required now" if changed else "changed")


def _brief(value: Any) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
