"""Corrections: what people changed in an overlay stays when the description is imported again.

Each import leaves a fingerprint of every value that it proposed. A value with another fingerprint is a correction.
"""

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from mcpist_services.described.overlay import Overlay, ToolRule, load_overlay

WHOLE = ""  # the key of the fields that belong to no operation
_WHOLE_FIELDS = ("title", "description", "host", "security", "rate_limits", "category", "tags", "noise", "review")
REMOVED = "removed by hand"


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
