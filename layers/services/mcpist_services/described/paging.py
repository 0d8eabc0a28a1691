"""The paging of an imported list: recognized from its description, and read page by page."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mcpist.errors import InvalidRequest
from mcpist.render.shows import value_at
from mcpist.tools.declare.call import Call, ServiceResponse
from mcpist.tools.declare.paging import MAX_ITEMS, NextPage, Paging, Position, by_field, by_link
from mcpist_services.described.overlay import PagingKind, PagingRule
from mcpist_services.described.wording import listed

if TYPE_CHECKING:
    from mcpist_services.described.answers import AnswerShape
    from mcpist_services.described.description import Description, Operation

DEFAULT_PAGE_SIZE = 50
MAX_HOLDERS = 3  # objects about the pages that are in each other: `links.pages.next`

_CURSORS = listed(
    "cursor pagetoken nextpagetoken nexttoken marker after startingafter startcursor continuationtoken continue "
    "paginationtoken bookmark scrollid pagekey startafter nextcursor token $skiptoken pageid"
)
_OFFSETS = listed("offset start startat skip $skip startindex")
_PAGES = listed("page pagenumber pageno pageindex $page currentpage")
_SIZES = listed("limit perpage pagesize maxresults count top $top size maxitems take resultsperpage first")
_NEXT_FIELDS = listed(
    "nextcursor nextpagetoken nextmarker nexttoken nextpage nextpageid continuationtoken endcursor "
    "nextstartingafter paginationtoken scrollid next after cursor"
)
_NEXT_URLS = listed("next nextlink @odata.nextlink nextpage nextpageurl nexturl nextpageuri nexturi")
_MORE = listed("hasmore more hasnextpage hasnext ismore")
_LAST = listed("total totalcount totalresults totalitems count totalhits")
_HOLDERS = listed(
    "meta metadata paging pagination pageinfo links responsemetadata page pages cursor cursors next "
    "data result response payload"
)
_ODATA_POSITIONS = ("$skip", "$skiptoken")
_NEXT = re.compile(r'<([^<>]*)>\s*;[^,<]*\brel="?next"?')  # no "<" within: linear in a header's length

type _Found = tuple[PagingKind, tuple[str, ...], str, str]


def recognize_paging(
    description: "Description", operation: "Operation", answer: "AnswerShape", arguments: Mapping[str, Any]
) -> PagingRule | None:
    """Return how a list goes on; None where it is no list, or ends with its answer.

    `arguments` are the schemas of the query parameters, or of a POST's body, by the vendor's names.
    """
    if not answer.is_list:
        return None
    named = {_flat(name): name for name in arguments}
    size = next(
        (named[flat] for flat in named if flat in _SIZES and _is_integer(description, arguments[named[flat]])), ""
    )
    fields = dict(_fields(description, answer.fields, _HOLDERS | {_flat(name) for name in answer.rows.split(".")}))
    found = _by_answer(operation, named, fields) or _by_number(named, fields)
    if found is None:
        return None
    kind, position, field, more = found
    begin = description.object(arguments[position[0]]) if kind == "page" else {}
    first = 0 if begin.get("default", begin.get("minimum")) == 0 else 1
    rest = {"position": position, "field": field, "more": more, "first": first}
    return PagingRule(kind=kind, size=size, max_size=_max_size(description, arguments.get(size)), **rest)


def link_positions(names: Iterable[str]) -> tuple[str, ...]:
    """Return the parameters that a link to the next page may carry."""
    return tuple(name for name in names if _flat(name) in _CURSORS | _PAGES | _OFFSETS)


def paging_of(rule: PagingRule) -> Paging:
    """Return how a list is read page by page."""
    position = rule.position
    numbered = rule.kind in {"offset", "page"}
    if numbered and rule.size:
        position = (*position, rule.size)  # the number of a page means another place where pages are larger
    return Paging(size=rule.size, max_size=rule.max_size, position_parameters=position, next_page=_next_page(rule))


def _by_answer(operation: "Operation", named: Mapping[str, str], fields: Mapping[str, Any]) -> _Found | None:
    """Recognize a cursor in the answer, the next address in it, or the header `link`."""
    cursors = [named[flat] for flat in named if flat in _CURSORS and f"use{flat}" not in named]
    numbers = [named[flat] for flat in named if flat in _OFFSETS | _PAGES]
    more = next((path for path in fields if _flat(path.rpartition(".")[2]) in _MORE), "")
    addresses = [path for path in fields if _is_address(path, fields[path])]
    headers = {str(name).lower() for name in operation.success.get("headers") or {}}
    odata = next((path for path in addresses if path.startswith("@odata")), "")
    if odata:
        return "next_url", tuple(dict.fromkeys([*cursors, *numbers, *_ODATA_POSITIONS])), odata, ""
    if addresses and (cursors or numbers):
        return "next_url", (*cursors, *numbers), addresses[0], ""
    matching = [
        path
        for path, spec in fields.items()
        if _flat(path.rpartition(".")[2]) in _NEXT_FIELDS and not {"properties", "allOf"} & spec.keys()
    ]
    if cursors and matching:
        return "cursor", (cursors[0],), matching[0], more
    if "link" in headers and (cursors or numbers):
        return "link", tuple(dict.fromkeys([*numbers, *cursors])), "", ""
    return None


def _by_number(named: Mapping[str, str], fields: Mapping[str, Any]) -> _Found | None:
    total = next((path for path in fields if _flat(path.rpartition(".")[2]) in _LAST), "")
    for kind, known in (("offset", _OFFSETS), ("page", _PAGES)):
        position = next((named[flat] for flat in named if flat in known), "")
        if position:
            return ("offset" if kind == "offset" else "page"), (position,), total, ""
    return None


def _fields(
    description: "Description", fields: Mapping[str, Any], holders: Collection[str], depth: int = 0
) -> Iterable[tuple[str, Any]]:
    """Yield the paths of an answer's own fields, and of those that stand in an object about its pages."""
    for name, spec in fields.items():
        yield name, description.object(spec)
        if _flat(name) in holders and depth < MAX_HOLDERS:
            inner = description.properties(spec)
            yield from ((f"{name}.{key}", value) for key, value in _fields(description, inner, holders, depth + 1))


def _is_address(path: str, spec: Mapping[str, Any]) -> bool:
    name = path if path.startswith("@odata") else path.rpartition(".")[2]
    if _flat(name) not in _NEXT_URLS or spec.get("type") in {"object", "integer"}:
        return False
    in_links = path.lower().startswith(("_links.", "links."))
    said = f"{spec.get('description', '')} {spec.get('example', '')}".lower()
    is_named = name.lower().endswith(("link", "links", "url", "uri"))
    return in_links or is_named or spec.get("format") in {"uri", "url"} or "url" in said or "http" in said


def _is_integer(description: "Description", spec: Any) -> bool:
    target = description.deref(spec)
    return isinstance(target, dict) and target.get("type") in {"integer", "number", None}


def _max_size(description: "Description", spec: Any) -> int:
    target = description.object(spec)
    stated = target.get("maximum") or target.get("default")
    return min(int(stated), MAX_ITEMS) if isinstance(stated, int | float) and stated >= 1 else DEFAULT_PAGE_SIZE


def _flat(name: str) -> str:
    return re.sub(r"[_\-\s]", "", name).lower()


def _next_page(rule: PagingRule) -> NextPage:
    match rule.kind:
        case "cursor":
            return by_field(rule.field, rule.position[0], more=rule.more)
        case "link":
            return by_link(
                lambda response: found[1] if (found := _NEXT.search(response.headers.get("link", ""))) else None,
                *rule.position,
            )
        case "next_url":
            return by_link(lambda response: _text_at(response.json, rule.field), *rule.position)
    return _numbered_pages(rule)


def _numbered_pages(rule: PagingRule) -> NextPage:
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


def _text_at(value: Any, field: str) -> str | None:
    """Return the text at a path; a name with dots in it is tried as it is first."""
    found = value.get(field) if isinstance(value, dict) else None
    found = value_at(value, field) if found is None else found
    return found if isinstance(found, str) else None
