"""Filters: equalities that `and` joins, as in `userName eq "ada@example.com"`; Okta and Entra send no others.

Source: https://www.rfc-editor.org/rfc/rfc7644#section-3.4.2.2
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcpist.errors import InvalidRequest
from rest_api.scim.resources import Attributes, find_attribute

MAX_EQUALITIES = 20
# No part of a match can end at two places, so its time is linear.
_EQUALITY = re.compile(
    r'\s*([A-Za-z][\w:.$-]{0,200})\s+eq\s+("(?:[^"\\]|\\.){0,512}"|true|false)\s*(and(?=\s)|$)', re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Equality:
    """One attribute, by its path, and the value that it has to have."""

    path: Sequence[str]
    value: Any
    exact: bool

    def matches(self, resource: Mapping[str, Any]) -> bool:
        """Whether a resource, or a value in one, fulfils it; of several values one must."""
        values: list[Any] = [resource]
        for name in (*self.path, "value"):
            values = [one.get(name) if isinstance(one, Mapping) else one for one in values]
            values = [one for value in values for one in (value if isinstance(value, list) else [value])]
        return any((one if self.exact else _folded(one)) == self.value for one in values)


def parse(text: str, attributes: Attributes) -> list[Equality]:
    """Return the equalities of a filter, all of which must hold; InvalidRequest about `filter` for any other."""
    found: list[Equality] = []
    position, joint = 0, "and"
    while joint and len(found) < MAX_EQUALITIES and (match := _EQUALITY.match(text, position)):
        found.append(_equality(match, attributes))
        position, joint = match.end(), match[3]
    if joint:
        problem = f'it is at most {MAX_EQUALITIES} comparisons such as userName eq "ada", which and joins'
        raise InvalidRequest(field="filter", problem=f"{problem}; it is wrong from position {position}")
    return found


def passes(filter_: Sequence[Equality], resource: Mapping[str, Any]) -> bool:
    """Whether a resource fulfils all equalities."""
    return all(one.matches(resource) for one in filter_)


def _equality(match: re.Match[str], attributes: Attributes) -> Equality:
    path: list[str] = []
    exact = False
    for name in match[1].rpartition(":")[2].split("."):
        attribute = find_attribute(name, attributes)
        if attribute is None:
            raise InvalidRequest(field="filter", problem=f"there is no attribute {match[1]}")
        path.append(attribute["name"])
        exact, attributes = attribute["caseExact"], attribute.get("subAttributes", ())
    try:
        value = json.loads(match[2] if match[2].startswith('"') else match[2].lower())
    except ValueError:
        raise InvalidRequest(field="filter", problem="a text in it is not JSON") from None
    return Equality(path, value if exact else _folded(value), exact)


def _folded(value: Any) -> Any:
    return value.casefold() if isinstance(value, str) else value
