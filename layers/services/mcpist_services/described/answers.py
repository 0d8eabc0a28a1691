"""Answers: from the schema of an operation's answer to the list in it and the columns that a model needs."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mcpist.render.shows import DOWNLOADED
from mcpist.toml_table import toml_beside
from mcpist_services.described.description import MAX_PARTS_DEPTH, PARTS, Description, Operation
from mcpist_services.described.identifiers import Identifiers
from mcpist_services.described.overlay import MAX_SHOWN_COLUMNS
from mcpist_services.described.secrets import is_secret_name, is_secret_schema
from mcpist_services.described.wording import listed, singular, word_lists, words

JSON_TYPE = re.compile(r"(application|text)/([\w.+-]+\+)?json\b|\*/\*", re.IGNORECASE)
# Pages for people, and answers without an end; all else that is no JSON is a file.
_NO_FILE = re.compile(r"text/(html|event-stream)\b|multipart/", re.IGNORECASE)
MAX_SECRET_DEPTH = 8
MAX_ENVELOPES = 3  # around each other
WRITE_COLUMNS = 5

_WORDS = word_lists("answers")
_LISTS = listed(_WORDS["lists"])
_NAMED, _RELATED, _IDS, _NAMES, _STATES, _URLS, _TEXTS = (
    tuple(_WORDS[kind].split()) for kind in ("named", "related", "ids", "names", "states", "urls", "texts")
)
_QUOTAS: Mapping[str, int] = toml_beside(__file__, "words.toml")["quotas"]
_ENVELOPE = listed(_WORDS["envelope"])
_ENTITY = listed("id key uuid gid sid guid")
_PAGE = re.compile(r"next|cursor|total|is_?last|has_?more", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AnswerShape:
    """The shape of an operation's answer."""

    columns: tuple[str, ...]
    rows: str = ""
    is_list: bool = False
    is_file: bool = False
    """Whether it is no JSON, and kept as a file of the caller."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """The answer's own properties, besides the rows."""
    secrets: tuple[str, ...] = ()
    """The properties that are secret by their schemas or their names, at any depth."""
    refused: str = ""
    """Why the answer cannot be read; empty where it can."""


def propose_answer(description: Description, operation: Operation, identifiers: Identifiers) -> AnswerShape:
    """Return the list in an operation's answer, and its columns: ids, names, states, times, URLs."""
    content = operation.success.get("content")
    if not isinstance(content, dict) or not content:
        has_body = operation.method == "GET" or "204" not in operation.responses
        return AnswerShape(("*",) if has_body else ("done",))
    kind = next((kind for kind in content if JSON_TYPE.match(kind)), None)
    if kind is None:
        stated = next(iter(content))
        if _NO_FILE.match(stated):
            return AnswerShape(("*",), refused=f"it answers {stated}, not JSON")
        return AnswerShape(tuple(DOWNLOADED.fields), is_file=True)
    media = content[kind] if isinstance(content[kind], dict) else {}
    reader = _Reader(description, operation, identifiers)
    return replace(reader.answer(media.get("schema")), secrets=tuple(sorted(reader.secrets_in(media.get("schema")))))


class _Reader:
    """Reads the schema of one answer."""

    def __init__(self, description: Description, operation: Operation, identifiers: Identifiers) -> None:
        self._description = description
        self._operation = operation
        self._identifiers = identifiers
        self._is_list = False

    def answer(self, schema: Any, envelopes: tuple[str, ...] = ()) -> AnswerShape:
        """Return the shape of an answer; `envelopes` are the properties around the schema, the outermost first."""
        if (items := self.items_of(schema)) is not None:
            return AnswerShape(self._columns(items), ".".join(envelopes), is_list=True)
        fields = self._description.properties(schema)
        if not fields:
            return AnswerShape(("*",))
        rows, items = self._list_in(fields)
        if rows:
            return AnswerShape(self._columns(items), ".".join([*envelopes, rows]), is_list=True, fields=fields)
        if len(envelopes) < MAX_ENVELOPES and (envelope := self._envelope(fields)):
            return replace(self.answer(fields[envelope], (*envelopes, envelope)), fields=fields)
        return AnswerShape(self._chosen(fields, "".join(f"{name}." for name in envelopes)), fields=fields)

    def secrets_in(self, schema: Any) -> set[str]:
        """Return the names of the properties that are secret, over all objects that the schema leads to."""
        found: set[str] = set()
        seen: set[int] = set()
        level: list[tuple[str, Any]] = [("", schema)]
        for _ in range(MAX_SECRET_DEPTH):
            targets = [(name, self._description.object(one)) for name, one in level]
            level = []
            for name, target in targets:
                if not target or id(target) in seen:
                    continue
                seen.add(id(target))
                if _is_text(target) and (is_secret_name(name) or is_secret_schema(target)):
                    found.add(name)
                stated = target.get("properties")
                level += stated.items() if isinstance(stated, dict) else ()
                level += [(name, part) for key in PARTS for part in target.get(key) or []]
                level.append((name, target.get("items")))
        return found - {""}

    def items_of(self, schema: Any, depth: int = 0) -> Any:
        """Return the schema of a list's items; None where it is no list."""
        schema = self._description.object(schema)
        if not schema or depth > MAX_PARTS_DEPTH:
            return None
        if schema.get("type") == "array" or "items" in schema or schema.get("type") == ["array", "null"]:
            return schema.get("items") or {}
        parts = (part for key in PARTS for part in schema.get(key) or [])
        found = [items for part in parts if (items := self.items_of(part, depth + 1)) is not None]
        return found[0] if found and not self._description.properties(schema) else None

    def _list_in(self, fields: Mapping[str, Any]) -> tuple[str, Any]:
        """Return the property that holds the rows of a list, and their schema; an empty name where there is none."""
        found = ((name, self.items_of(spec)) for name, spec in fields.items() if "." not in name)
        lists = {name: items for name, items in found if items is not None}
        if not lists:
            return "", None
        lists = {name: items for name, items in lists.items() if not is_of_envelope(name)} or lists
        nouns = {singular(word) for word in words(self._operation.path.rpartition("/")[2])}
        rest = [name for name in fields if name not in lists and not is_of_envelope(name)]
        is_entity = not _ENTITY.isdisjoint(rest)
        for name in lists:
            if name in _LISTS and not is_entity:
                return name, lists[name]
        for name in lists:
            if nouns and nouns <= {singular(word) for word in words(name)} and not is_entity:
                return name, lists[name]
        objects = [name for name in lists if self._description.properties(lists[name])] or list(lists)
        is_page = len(rest) <= 1 or any(_PAGE.search(name) for name in fields)
        return (objects[0], lists[objects[0]]) if len(objects) == 1 and is_page and not is_entity else ("", None)

    def _envelope(self, fields: Mapping[str, Any]) -> str:
        """Return the property that holds the whole object: `{"escalation_policy": {...}, "links": {...}}`."""
        rest = [name for name in fields if not is_of_envelope(name)]
        if not rest:  # `{"status": 200, "meta": {"components": [...]}}`
            rest = [
                name
                for name, spec in fields.items()
                if not all(map(is_of_envelope, self._description.properties(spec)))
            ]
        return (
            rest[0] if len(rest) == 1 and "." not in rest[0] and self._description.properties(fields[rest[0]]) else ""
        )

    def _columns(self, items: Any) -> tuple[str, ...]:
        """Return the columns of a list's rows; a row may be an envelope too: `{"node": {...}, "cursor": "..."}`."""
        self._is_list = True
        fields, prefix = self._description.properties(items), ""
        while prefix.count(".") < MAX_ENVELOPES and (envelope := self._envelope(fields)):
            fields, prefix = self._description.properties(fields[envelope]), f"{prefix}{envelope}."
        return self._chosen(fields, prefix) if fields else ("*",)

    def _chosen(self, fields: Mapping[str, Any], prefix: str) -> tuple[str, ...]:
        limit = MAX_SHOWN_COLUMNS if self._operation.method == "GET" or self._is_list else WRITE_COLUMNS
        candidates = [one for name, spec in fields.items() for one in self._candidate(name, spec)]
        needed = self._identifiers.field_of(self._operation, fields)
        candidates = [replace(one, group="needed", rank=-1) if one.name == needed else one for one in candidates]
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
        target = self._description.object(spec)
        if target.get("writeOnly") is True or is_secret_name(name) or is_secret_schema(target):
            return
        if (items := self.items_of(target)) is not None:
            inner = self._description.properties(items)
            key = next((one for one in _NAMED[:-1] if one in inner), None)
            if key or not inner:
                yield _Column(f"{name}[*].{key}" if key else name, name, "lists", 60)
            return
        inner = self._description.properties(target)
        if inner:
            key = next((one for one in _NAMED if one in inner and not self._description.properties(inner[one])), None)
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


def _is_text(schema: Mapping[str, Any]) -> bool:
    kind = schema.get("type", "object" if "properties" in schema else "string")
    return "string" in (kind if isinstance(kind, list) else [kind])


def is_of_envelope(name: str) -> bool:
    """Whether a property is about the answer, and none of what was asked for: `next_page_token`, `links`."""
    return set(words(name)) <= _ENVELOPE


_TIME = re.compile(
    r"(_at|_on|_time|_date|At|Time|Date|DateTime)$|^date_|^(created|updated|modified|date|time|due|start|end)$"
)


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
