"""Pages: an overlay's rule of paging as the catalogue's own."""

import re
from typing import Any

from mcpist.errors import InvalidRequest
from mcpist.render.shows import value_at
from mcpist.tools.declare.call import Call, ServiceResponse
from mcpist.tools.declare.paging import NextPage, Paging, Position, by_field, by_link
from mcpist_services.described.overlay import PagingRule

_NEXT = re.compile(r'<([^<>]*)>\s*;[^,<]*\brel="?next"?')  # no "<" within: linear in a header's length


def paging_of(rule: PagingRule) -> Paging:
    """Return how a list is read page by page."""
    position = rule.position
    numbered = rule.kind in {"offset", "page"}
    if numbered and rule.size:
        position = (*position, rule.size)  # the number of a page means another place where pages are larger
    return Paging(size=rule.size, max_size=rule.max_size, position_parameters=position, next_page=_next_page(rule))


def _next_page(rule: PagingRule) -> NextPage:
    match rule.kind:
        case "cursor":
            return by_field(rule.field, rule.position[0], more=rule.more)
        case "link":
            return by_link(_header_link, *rule.position)
        case "next_url":
            return by_link(lambda response: _text_at(response.json, rule.field), *rule.position)
    return _by_number(rule)


def _by_number(rule: PagingRule) -> NextPage:
    """Read the next page by its number, or by that of its first item, until one is short or all are read."""
    name = rule.position[0]

    def next_page(call: Call, response: ServiceResponse, items: int) -> Position:
        parameters = (call.json if call.method == "POST" else call.query) or {}
        size = int(parameters.get(rule.size, 0)) if rule.size else 0
        begin = str(parameters.get(name, rule.first if rule.kind == "page" else 0))
        if not begin.isdecimal():
            raise InvalidRequest(field="cursor", problem="it is no number")
        number = int(begin)
        read = number + items if rule.kind == "offset" else (number - rule.first) * size + items
        total = value_at(response.json, rule.field) if rule.field and (size or rule.kind == "offset") else None
        if not items or (read >= total if isinstance(total, int) else items < size):
            return {}
        following = number + (items if rule.kind == "offset" else 1)
        return {name: following} | ({rule.size: size} if size else {})

    return next_page


def _header_link(response: ServiceResponse) -> str | None:
    found = _NEXT.search(response.headers.get("link", ""))
    return found[1] if found else None


def _text_at(value: Any, field: str) -> str | None:
    """Return the text at a path; a name with dots in it is tried as it is first."""
    found = value.get(field) if isinstance(value, dict) else None
    found = value_at(value, field) if found is None else found
    return found if isinstance(found, str) else None
