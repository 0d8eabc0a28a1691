"""Conditions: the `when` of a step, which is skipped unless it holds.

"${x.path}"                          the same as not_empty
{"exists": "${x.path}"}              the value exists and is not null
{"not_empty": "${x.path}"}           and it is no empty text, list or object, and not false
{"equals": ["${x.path}", value]}     the value is the same JSON
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
    """Return a condition in its stored form; PydanticCustomError for another shape."""
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
    """Return whether a condition holds; a reference that does not resolve counts as missing."""
    ((kind, operand),) = condition.items()
    try:
        value = resolve(operand, find, "when")
    except UnresolvedReference:
        return False
    match kind:
        case "exists":
            return value is not None
        case "equals":
            return is_equal_json(*value)
        case _:
            return value is not None and value is not False and value not in ("", [], {})


def is_about_element(condition: Condition) -> bool:
    """Return whether a condition is evaluated for each element of a list, not for the step."""
    return any(reference.step == EACH for reference in find_references(condition))


def is_equal_json(left: Any, right: Any) -> bool:
    """Return whether two values are the same JSON: true is not 1, but 1.0 is."""
    match left, right:
        case dict(), dict():
            return left.keys() == right.keys() and all(is_equal_json(left[name], right[name]) for name in left)
        case list(), list():
            return len(left) == len(right) and all(map(is_equal_json, left, right))
        case _:
            return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _is_reference(value: Any) -> bool:
    return isinstance(value, str) and _WHOLE_REFERENCE.fullmatch(value) is not None
