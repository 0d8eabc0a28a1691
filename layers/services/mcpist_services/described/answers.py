"""Answers: from the schema of an operation's answer to the list in it and the columns that a model needs."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mcpist.toml_table import toml_beside
from mcpist_services.described.description import Description, Operation
from mcpist_services.described.overlay import MAX_SHOWN_COLUMNS
from mcpist_services.described.wording import listed, singular, word_lists, words

JSON_TYPE = re.compile(r"(application|text)/([\w.+-]+\+)?json\b|\*/\*", re.IGNORECASE)
MAX_ANSWER_DEPTH = 12
WRITE_COLUMNS = 5

_WORDS = word_lists("answers")
_LISTS = listed(_WORDS["lists"])
_WRAPPERS = listed(_WORDS["wrappers"])
_NAMED, _RELATED, _IDS, _NAMES, _STATES, _URLS, _TEXTS = (
    tuple(_WORDS[kind].split()) for kind in ("named", "related", "ids", "names", "states", "urls", "texts")
)
_QUOTAS: Mapping[str, int] = toml_beside(__file__, "words.toml")["quotas"]
_ENVELOPE = re.compile(
    r"(total|count|limit|offset|page|next|prev|previous|cursor|marker|more|size|start|last|first|links?|meta|metadata|"
    r"paging|pagination|object|kind|etag|ok|self|order|max|token|is_?last|incomplete)",
    re.IGNORECASE,
)
_PAGE = re.compile(r"next|cursor|total|is_?last|has_?more", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AnswerShape:
    """The shape of an operation's answer."""

    columns: tuple[str, ...]
    rows: str = ""
    is_list: bool = False
    fields: Mapping[str, Any] = field(default_factory=dict)
    """The answer's own properties, besides the rows."""
    refused: str = ""
    """Why the answer cannot be read; empty where it can."""


def propose_answer(description: Description, operation: Operation) -> AnswerShape:
    """Return the list in an operation's answer, and its columns: ids, names, states, times, URLs."""
    content = operation.success.get("content")
    if not isinstance(content, dict) or not content:
        has_body = operation.method == "GET" or "204" not in operation.responses
        return AnswerShape(("*",) if has_body else ("done",))
    kind = next((kind for kind in content if JSON_TYPE.match(kind)), None)
    if kind is None:
        return AnswerShape(("*",), refused=f"it answers {next(iter(content))}, not JSON")
    media = content[kind] if isinstance(content[kind], dict) else {}
    return _Reader(description, operation).answer(media.get("schema"))


class _Reader:
    """Reads the schema of one answer."""

    def __init__(self, description: Description, operation: Operation) -> None:
        self._description = description
        self._operation = operation
        self._is_list = False

    def answer(self, schema: Any) -> AnswerShape:
        if (items := self.items_of(schema)) is not None:
            return AnswerShape(self._columns(items), is_list=True)
        fields = self.properties(schema)
        if not fields:
            return AnswerShape(("*",))
        rows, items = self._list_in(fields)
        wrapper = "" if rows else self._wrapper(fields)
        inner, prefix = (self.properties(fields[wrapper]), f"{wrapper}.") if wrapper else (fields, "")
        if wrapper:
            rows, items = self._list_in(inner)
        if rows:
            return AnswerShape(self._columns(items), f"{prefix}{rows}", is_list=True, fields=fields)
        return AnswerShape(self._chosen(inner, prefix), fields=fields)

    def properties(self, schema: Any, depth: int = 0) -> dict[str, Any]:
        """Return the properties of an object, over the parts and the alternatives that it is made of."""
        schema = self._description.deref(schema)
        if not isinstance(schema, dict) or depth > MAX_ANSWER_DEPTH:
            return {}
        found: dict[str, Any] = {}
        for key in ("allOf", "oneOf", "anyOf"):
            for part in schema.get(key) or []:
                for name, spec in self.properties(part, depth + 1).items():
                    found.setdefault(name, spec)
        stated = schema.get("properties")
        return found | stated if isinstance(stated, dict) else found

    def items_of(self, schema: Any, depth: int = 0) -> Any:
        """Return the schema of a list's items; None where it is no list."""
        schema = self._description.deref(schema)
        if not isinstance(schema, dict) or depth > MAX_ANSWER_DEPTH:
            return None
        if schema.get("type") == "array" or "items" in schema or schema.get("type") == ["array", "null"]:
            return schema.get("items") or {}
        parts = (part for key in ("allOf", "oneOf", "anyOf") for part in schema.get(key) or [])
        found = [items for part in parts if (items := self.items_of(part, depth + 1)) is not None]
        return found[0] if found and not self.properties(schema) else None

    def _list_in(self, fields: Mapping[str, Any]) -> tuple[str, Any]:
        """Return the property that holds the rows of a list, and their schema; an empty name where there is none."""
        found = ((name, self.items_of(spec)) for name, spec in fields.items() if "." not in name)
        lists = {name: items for name, items in found if items is not None}
        if not lists:
            return "", None
        nouns = {singular(word) for word in words(self._operation.path.rpartition("/")[2])}
        rest = [name for name in fields if name not in lists and not _ENVELOPE.search(name)]
        is_entity = any(name in {"id", "key", "uuid"} for name in rest)
        for name in lists:
            if name in _LISTS and not is_entity:
                return name, lists[name]
        for name in lists:
            if nouns and nouns <= {singular(word) for word in words(name)} and not is_entity:
                return name, lists[name]
        objects = [name for name in lists if self.properties(lists[name])] or list(lists)
        is_page = len(rest) <= 1 or any(_PAGE.search(name) for name in fields)
        return (objects[0], lists[objects[0]]) if len(objects) == 1 and is_page and not is_entity else ("", None)

    def _wrapper(self, fields: Mapping[str, Any]) -> str:
        """Return the property that holds the whole object: `{"data": {...}}`."""
        rest = [name for name in fields if not _ENVELOPE.search(name)] or list(fields)
        only = rest[0] if len(rest) == 1 else ""
        wraps = only in _WRAPPERS or singular(only) in {singular(one) for one in words(self._operation.path)}
        return only if only and wraps and self.properties(fields[only]) else ""

    def _columns(self, items: Any) -> tuple[str, ...]:
        self._is_list = True
        fields = self.properties(items)
        return self._chosen(fields, "") if fields else ("*",)

    def _chosen(self, fields: Mapping[str, Any], prefix: str) -> tuple[str, ...]:
        limit = MAX_SHOWN_COLUMNS if self._operation.method == "GET" or self._is_list else WRITE_COLUMNS
        candidates = [one for name, spec in fields.items() for one in self._candidate(name, spec)]
        chosen: list[_Column] = []
        for column in sorted(candidates, key=lambda one: one.rank):
            taken = sum(one.group == column.group for one in chosen)
            if taken < _QUOTAS[column.group] and len(chosen) < limit:
                chosen.append(column)
        names = {one.name for one in chosen}
        texts = [f"{prefix}{one.path} as {one.name}" if prefix or one.path != one.name else one.path for one in chosen]
        return tuple(texts) if len(names) == len(chosen) and texts else ("*",)

    def _candidate(self, name: str, spec: Any) -> "Iterator[_Column]":
        """Yield a property as a column, if a model needs it."""
        if not re.fullmatch(r"[^.\[\]|\s]+", name):
            return
        target = self._description.deref(spec)
        target = target if isinstance(target, dict) else {}
        if target.get("writeOnly") is True:
            return
        if (items := self.items_of(target)) is not None:
            inner = self.properties(items)
            key = next((one for one in _NAMED[:-1] if one in inner), None)
            if key or not inner:
                yield _Column(f"{name}[*].{key}" if key else name, name, "lists", 60)
            return
        inner = self.properties(target)
        if inner:
            key = next((one for one in _NAMED if one in inner and not self.properties(inner[one])), None)
            if key:
                rank = _RELATED.index(name) if name in _RELATED else len(_RELATED)
                yield _Column(f"{name}.{key}", name, "objects", 50 + rank // 3)
            return
        group, rank = _group(name, target)
        yield _Column(name, name, group, rank)


@dataclass(frozen=True, slots=True)
class _Column:
    path: str
    name: str
    group: str
    rank: int


_TIME = re.compile(r"(_at|_on|_time|_date|At|Time|Date|DateTime)$|^(created|updated|modified|date|time|due|start|end)$")


def _group(name: str, spec: Mapping[str, Any]) -> tuple[str, int]:
    """Return the group of a property and its rank: what is read first is small."""
    low = name.lower()
    if low in _IDS:
        return "id", _IDS.index(low)
    if low in _NAMES:
        return "name", 10 + _NAMES.index(low)
    if low in {"type", "kind", "object"} and "const" not in spec and len(spec.get("enum") or "xx") > 1:
        return "kind", 25
    if low in _STATES:
        return "state", 30 + _STATES.index(low)
    if low.startswith("is_") or spec.get("type") == "boolean":
        return "flag", 85
    if spec.get("format") in {"date-time", "date"} or _TIME.search(name):
        recent = any(word in low for word in ("updat", "modif", "due", "start"))
        return "time", 40 if recent else 41
    if low in _URLS:
        return "url", 45 + _URLS.index(low) // 4
    is_address = spec.get("format") in {"uri", "url"} or low.endswith(("url", "_link", "href"))
    if is_address or low in {"self", "node_id", "etag"}:
        return "links", 99
    return ("text", 55 + _TEXTS.index(low)) if low in _TEXTS else ("other", 80 + (low.endswith("id") and 5))
