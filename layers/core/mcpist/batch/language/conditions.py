"""Conditions: the `when` of a step, which is skipped unless it holds.

"${x.path}"                          the same as not_empty
{"exists": "${x.path}"}              the path leads to something other than null
{"not_empty": "${x.path}"}           and that is no empty text, list or object, and not false
{"equals": ["${x.path}", value]}     and that is this JSON
"""

import re
from collections.abc import Mapping
from typing import Any

from pydantic_core import PydanticCustomError

from mcpist.batch.language.references import EACH, FindSource, find_references, resolve
from mcpist.errors import UnresolvedReference

type Condition = Mapping[str, Any]
"""One of the objects above."""

_WHOLE_REFERENCE = re.compile(r"\$\{[^{}]*\}")
_SYNTAX = '"${x.path}", {"exists": "${x.path}"}, {"not_empty": "${x.path}"} or {"equals": ["${x.path}", value]}'


def parse_condition(value: Any) -> Any:
    """A condition as it is kept; PydanticCustomError for one of no such shape."""
    match value:
        case None:
            return None
        case str() if _is_reference(value):
            return {"not_empty": value}
        case {"exists": reference, **others} | {"not_empty": reference, **others} if not others:
            if _is_reference(reference):
                return value
        case {"equals": [reference, _], **others} if not others and _is_reference(reference):
            return value
    raise PydanticCustomError("condition", "write {shapes}", {"shapes": _SYNTAX})


def holds(condition: Condition, find: FindSource) -> bool:
    """Whether a condition holds; a reference that leads nowhere is to nothing."""
    ((kind, operand),) = condition.items()
    try:
        found = resolve(operand, find, "when")
    except UnresolvedReference:
        return False
    match kind:
        case "exists":
            return found is not None
        case "equals":
            return is_equal_json(*found)
        case _:
            return found is not None and found is not False and found not in ("", [], {})


def is_about_element(condition: Condition) -> bool:
    """Whether a condition is asked of each element of a list, not of the step."""
    return any(reference.step == EACH for reference in find_references(condition))


def is_equal_json(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: true is not 1, but 1.0 is."""
    match one, other:
        case dict(), dict():
            return one.keys() == other.keys() and all(is_equal_json(one[name], other[name]) for name in one)
        case list(), list():
            return len(one) == len(other) and all(map(is_equal_json, one, other))
        case _:
            return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _is_reference(value: Any) -> bool:
    return isinstance(value, str) and _WHOLE_REFERENCE.fullmatch(value) is not None
