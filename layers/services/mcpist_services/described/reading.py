"""Reading: a description's bytes as JSON values, bounded in size, depth and what YAML's aliases unfold to."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mcpist.errors import InvalidRequest

MAX_DESCRIPTION_BYTES = 16_000_000  # GitHub's whole description is 12 MB
MAX_DEPTH = 100
MAX_VALUES = 2_000_000  # aliases counted as often as they are used

_INTEGER = re.compile(r"[-+]?[0-9]+")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Any] = {"null": None, "~": None, "": None, "true": True, "false": False}
_MERGE = "<<"


def refuse(place: str, problem: str) -> InvalidRequest:
    """Return the error for a description that cannot be imported, with the place of its problem."""
    return InvalidRequest(field=place, problem=problem)


@contextmanager
def well_formed(place: str) -> Iterator[None]:
    """Refuse a part of a description in which something has another type than OpenAPI says."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError):
        raise refuse(place, "something in it has another type than OpenAPI says") from None


def read(content: bytes, name: str = "description") -> Any:
    """Return the JSON values of a file in JSON or YAML; InvalidRequest names the place that is wrong."""
    if len(content) > MAX_DESCRIPTION_BYTES:
        raise refuse(name, f"it is larger than {MAX_DESCRIPTION_BYTES // 1_000_000} MB")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"it is no UTF-8 text (byte {error.start}); a compressed file must be unpacked first"
        raise refuse(name, problem) from None
    if text.lstrip().startswith("{"):
        return _read_json(text, name)
    return _YamlReader(name).read(text)


def _read_json(text: str, name: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise refuse(f"{name}, line {error.lineno}", f"it is no JSON: {error.msg}") from None
    except ValueError as error:
        raise refuse(name, f"it is no JSON: {error}") from None
    except RecursionError:
        raise refuse(name, "it is nested too deeply") from None


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON value")


@dataclass(slots=True)
class _Open:
    """A list or an object that has not ended yet."""

    value: Any
    anchor: str | None
    size: int = 1
    key: str | None = None
    """The key whose value is next; None where a key is next, and in lists."""


class _YamlReader:
    """Builds values from YAML's events, without recursion, and counts what aliases unfold to while it reads.

    Only JSON's types exist: a date is a text, `no` is a text, and every key is one.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._root: list[Any] = []

    def read(self, text: str) -> Any:
        """Return the one document of a text."""
        import yaml

        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            for event in yaml.parse(text, Loader=loader):
                self._take(event, yaml)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            place = self._name if mark is None else f"{self._name}, line {mark.line + 1}"
            raise refuse(place, f"it is no YAML: {getattr(error, 'problem', None) or 'unreadable'}") from None
        if len(self._root) != 1:
            raise refuse(self._name, "it is not one document")
        return self._root[0]

    def _take(self, event: Any, yaml: Any) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self._put(_scalar(event), 1, event, event.anchor)
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise self._refuse(event, f"the alias *{event.anchor} names nothing that ended before it")
            self._put(*self._anchors[event.anchor], event)
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(self._open) >= MAX_DEPTH:
                raise self._refuse(event, f"it is nested more than {MAX_DEPTH} deep")
            self._open.append(_Open([] if isinstance(event, yaml.SequenceStartEvent) else {}, event.anchor))
        elif isinstance(event, yaml.CollectionEndEvent):
            ended = self._open.pop()
            self._put(ended.value, ended.size, event, ended.anchor)

    def _put(self, value: Any, size: int, event: Any, anchor: str | None = None) -> None:
        if anchor:
            self._anchors[anchor] = (value, size)
        if not self._open:
            self._root.append(value)
            return
        holder = self._open[-1]
        holder.size += size
        if holder.size > MAX_VALUES:
            raise self._refuse(event, f"its aliases unfold to more than {MAX_VALUES:,} values")
        if isinstance(holder.value, list):
            holder.value.append(value)
        elif holder.key is None:
            holder.key = self._key(value, event)
        else:
            self._set(holder, value)

    def _set(self, holder: _Open, value: Any) -> None:
        key, holder.key = holder.key, None
        if key != _MERGE:
            holder.value[key] = value
            return
        for other in value if isinstance(value, list) else [value]:
            for name in other if isinstance(other, dict) else ():
                holder.value.setdefault(name, other[name])

    def _key(self, value: Any, event: Any) -> str:
        if isinstance(value, dict | list):
            raise self._refuse(event, "a key is no text")
        return value if isinstance(value, str) else event.value if hasattr(event, "value") else json.dumps(value)

    def _refuse(self, event: Any, problem: str) -> InvalidRequest:
        return refuse(f"{self._name}, line {event.start_mark.line + 1}", problem)


def _scalar(event: Any) -> Any:
    """Return a scalar by the rules of YAML 1.2's JSON schema; what is quoted is a text."""
    text: str = event.value
    return plain_value(text) if event.implicit[0] and event.tag in {None, "!"} else text


def plain_value(text: str) -> Any:
    """Return the value of a text that is not quoted."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INTEGER.fullmatch(text) and len(text) < 20:
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text
