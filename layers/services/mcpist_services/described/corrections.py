"""What people changed in an overlay, which a new import keeps, and what that import changes.

Each import leaves a fingerprint of every value that it proposed. A value with another fingerprint is a correction.
"""

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from mcpist_services.described.overlay import Overlay, ToolRule, load_overlay

WHOLE = ""  # the key of the fields that belong to no operation
REMOVED = "removed by hand"

_WHOLE_FIELDS = ("title", "description", "host", "security", "rate_limits", "category", "tags", "noise", "review")
_WHOLE = ("title", "description", "version", "host", "security", "rate_limits", "category", "tags")
_PLAIN = ("description", "effect", "reveals", "content_type", "headers", "rows", "shows", "paging", "scopes")


def with_corrections(proposed: Overlay, earlier: Overlay | None) -> Overlay:
    """Return a proposal with the corrections of an earlier overlay, and with the fingerprints of the proposal."""
    marks = {WHOLE: _marks(proposed.dump(), _WHOLE_FIELDS)} | {
        rule.operation: _marks(_values(rule)) for rule in proposed.tools.values()
    }
    values = proposed.dump() | {"proposed": marks}
    if earlier is None:
        return load_overlay(values)
    _keep(values, earlier.dump(), earlier.proposed.get(WHOLE, {}), _WHOLE_FIELDS)
    values["tools"] = dict(_tools(proposed, earlier))
    kept_out = set(earlier.proposed) - {WHOLE} - {rule.operation for rule in earlier.tools.values()}
    values["left_out"] = {**values.get("left_out", {}), **dict.fromkeys(sorted(kept_out & set(marks)), REMOVED)}
    values["schemas"] = {**earlier.schemas, **proposed.schemas}
    return load_overlay({key: value for key, value in values.items() if value not in ({}, [], "")})


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


def _tools(proposed: Overlay, earlier: Overlay) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the tools of a proposal as they were corrected; those that a person removed stay away."""
    former = {rule.operation: (name, rule) for name, rule in earlier.tools.items()}
    for name, rule in proposed.tools.items():
        values = _values(rule)
        if rule.operation in former:
            former_name, former_rule = former[rule.operation]
            marks = earlier.proposed.get(rule.operation)
            former_values = _values(former_rule)
            corrected = {} if marks is None else _keep(values, former_values, marks)
            changed = [field for field in corrected if _mark(_values(rule).get(field)) != corrected[field]]
            if changed:
                notes = [f"the vendor changed {field}, which you had corrected" for field in changed]
                values["review"] = list(dict.fromkeys([*values.get("review", ()), *notes]))
            yield former_name, values
        elif rule.operation not in earlier.proposed:
            yield name, values


def _keep(
    values: dict[str, Any], former: Mapping[str, Any], marks: Mapping[str, str], fields: tuple[str, ...] = ()
) -> dict[str, str]:
    """Put corrected values into the proposed ones; return the fields with the fingerprints of their old proposals."""
    corrected: dict[str, str] = {}
    for field in fields or sorted({*values, *former, *marks} - {"operation"}):
        mark = marks.get(field, _ABSENT)
        if _mark(former.get(field)) != mark:
            corrected[field] = mark
            if field in former:
                values[field] = former[field]
            else:
                values.pop(field, None)
    return corrected


def _values(rule: ToolRule) -> dict[str, Any]:
    return rule.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _marks(values: Mapping[str, Any], fields: tuple[str, ...] = ()) -> dict[str, str]:
    names = fields or tuple(name for name in ToolRule.model_fields if name != "operation")
    return {name: _mark(values[name]) for name in names if name in values}


def _mark(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:8]


_ABSENT = _mark(None)


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
