"""YAML from outside: read with limits, and only to values that JSON has.

Scalars are read by the core schema of YAML 1.2, so `yes`, `12:30` and a date are texts. An alias counts as many values
as it stands for, so a short document cannot become a large one.
"""

import re
from dataclasses import dataclass, field
from math import isinf
from typing import Any

MAX_YAML_VALUES = 1_000_000
MAX_YAML_DEPTH = 100

_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?[0-9]{1,1000}|0o[0-7]{1,1000}|0x[0-9a-fA-F]{1,1000}")
_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_TAG = "tag:yaml.org,2002:"
_SCALAR_TYPES: dict[str, set[type]] = {"null": {type(None)}, "bool": {bool}, "int": {int}, "float": {int, float}}
_COLLECTION_TAGS = {None, "!", f"{_TAG}map", f"{_TAG}seq"}


class YamlError(ValueError):
    """A refused document, with the line of its problem where that is known."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(f"line {line}: {problem}" if line else problem)
        self.problem = problem
        self.line = line


def load_yaml(
    text: str, *, max_values: int = MAX_YAML_VALUES, max_depth: int = MAX_YAML_DEPTH, unique_keys: bool = True
) -> Any:
    """Return the value of a YAML document; YamlError says the line and what is wrong with it.

    Values that an alias repeats are one object. Without `unique_keys` the last of two equal keys counts.
    """
    import yaml

    # Events instead of PyYAML's nodes: limits hold before anything recurses or grows.
    reader = _Reader(max_values, max_depth, unique_keys)
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for event in yaml.parse(text, Loader=loader):
            reader.take(event, yaml)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise YamlError(str(error.problem or error.context), line) from None
    except yaml.reader.ReaderError as error:
        raise YamlError(f"it has a character that YAML does not allow ({error.reason})") from None
    return reader.root.value


def plain_value(text: str) -> Any:
    """Return the value of a scalar that is not quoted."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text, 0) if text.startswith(("0o", "0x")) else int(text)
    if _NUMBER.fullmatch(text):
        number = float(text)
        return str(number) if isinf(number) else number
    return text


@dataclass(slots=True)
class _Value:
    """A value that was read; a list or an object is filled until it ends."""

    value: Any
    text: str | None = None
    """What a scalar is as a key."""
    merges: bool = False
    """Whether it is the key `<<`, whose value's fields join the object."""
    anchor: str | None = None
    size: int = 1
    """The number of values in it, its own among them."""
    depth: int = 0
    """The number of levels within it."""
    key: "_Value | None" = None
    """The key whose value is next; None where a key is next, and in lists."""
    merged: set[str] = field(default_factory=set)
    """The keys that another object gave, which its own replace."""


class _Reader:
    """Builds values from YAML's events, without recursion."""

    def __init__(self, max_values: int, max_depth: int, unique_keys: bool) -> None:
        self.root = _Value(None)
        self._max_values = max_values
        self._max_depth = max_depth
        self._unique_keys = unique_keys
        self._open: list[_Value] = []
        self._anchors: dict[str, _Value] = {}

    def take(self, event: Any, yaml: Any) -> None:
        if isinstance(event, yaml.ScalarEvent):
            merges = event.value == "<<" and event.implicit[0]
            self._put(_Value(_scalar(event), event.value, merges, event.anchor), event)
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise YamlError(f"the alias *{event.anchor} names nothing that ended before it", _line(event))
            self._put(self._anchors[event.anchor], event)
        elif isinstance(event, yaml.CollectionStartEvent):
            if event.tag not in _COLLECTION_TAGS:
                raise _no_json(event)
            self._open.append(_Value([] if isinstance(event, yaml.SequenceStartEvent) else {}, anchor=event.anchor))
            self._check_depth(0, event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._put(self._open.pop(), event)
        elif isinstance(event, yaml.DocumentStartEvent) and self.root.size > 1:
            raise YamlError("it is more than one document", _line(event))

    def _put(self, one: _Value, event: Any) -> None:
        if one.anchor:
            self._anchors[one.anchor] = one
        if not self._open:
            self.root = _Value(one.value, size=one.size + 1)
            return
        holder = self._open[-1]
        holder.size += one.size
        holder.depth = max(holder.depth, one.depth + 1)
        if holder.size > self._max_values:
            raise YamlError(f"it has more than {self._max_values} values", _line(event))
        self._check_depth(one.depth, event)
        if isinstance(holder.value, list):
            holder.value.append(one.value)
        elif holder.key is None:
            if one.text is None:
                raise YamlError("a key is no text", _line(event))
            holder.key = one
        else:
            self._set(holder, holder.key, one.value, event)
            holder.key = None

    def _set(self, holder: _Value, key: _Value, value: Any, event: Any) -> None:
        name = str(key.text)
        if key.merges:
            for other in value if isinstance(value, list) else [value]:
                if not isinstance(other, dict):
                    raise YamlError("only objects can be merged by <<", _line(event))
                added = {inner: other[inner] for inner in other if inner not in holder.value}
                holder.merged |= added.keys()
                holder.value |= added
            return
        if self._unique_keys and name in holder.value and name not in holder.merged:
            raise YamlError(f"the key {name[:100]} is there twice", _line(event))
        # From now on the key is the object's own, so a second one is a mistake.
        holder.merged.discard(name)
        holder.value[name] = value

    def _check_depth(self, inner: int, event: Any) -> None:
        if len(self._open) + inner > self._max_depth:
            raise YamlError(f"it is nested more than {self._max_depth} levels deep", _line(event))


def _scalar(event: Any) -> Any:
    """Return the value of a scalar; what is quoted is a text."""
    if event.tag is None:
        return plain_value(event.value) if event.implicit[0] else event.value
    kind = event.tag.removeprefix(_TAG)
    if kind in {"!", "str"}:
        return event.value
    value = plain_value(event.value)
    if type(value) not in _SCALAR_TYPES.get(kind, set()):
        raise _no_json(event)
    return value


def _no_json(event: Any) -> YamlError:
    return YamlError(f"{event.tag.rpartition(':')[2]} has no place in JSON", _line(event))


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1
