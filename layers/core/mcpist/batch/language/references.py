"""References: `${step.path[0].field}` in the params, the `each` and the `when` of a step.

The first word of the path selects: `items` the projected rows, `raw` the service's JSON, `file` the reference of a file
with the answer, any other word the service's JSON, too; of a step with `each` also `elements`, how each of them ended.
`result` in front of the first three is left out, unless the service's JSON has such a field.
`${each}` is the element that a step runs for. A string that is one reference becomes the value itself; references
inside a longer string become text, in which null is an error; `$${` is an escaped `${`. References are resolved once: a
result that looks like a reference stays text.
"""

import json
import re
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mcpist.errors import PayloadTooLarge, UnresolvedReference
from mcpist.render.shows import Shows, has_key, path_keys, project

_REFERENCE = re.compile(r"\$\$\{|\$\{([^{}]*)(\}?)")
_PATH = r"[A-Za-z_][\w-]*\.(?:items|raw|file)\b"
_FOREIGN_REFERENCE = re.compile(rf"\{{\{{\s*(?P<braced>{_PATH}[^{{}}\s]*)\s*\}}\}}|\$(?P<plain>{_PATH}[\w.\[\]-]*)")
_REFERENCE_SYNTAX = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*)((?:\.[^.\[\]]+|\[(?:[0-9]{1,9}|\*)\])*)")
EACH = "each"
PARAM = "param"
"""Stands for the parameters of a saved batch, whose values take the place of these references before it is planned."""
_MAX_LISTED_KEYS = 20
MAX_RESOLVED_CHARACTERS = 10_000_000
"""The size of all values that take the place of one value's references, as JSON."""
MAX_REWRITTEN_CHARACTERS = 1_000_000
"""The same before a batch is planned."""

type Key = str | int


@dataclass(frozen=True, slots=True)
class Reference:
    """A path into another step's result, or into the element, for which `step` is `each`; `field` contains it."""

    text: str
    field: str
    step: str
    keys: tuple[Key, ...]


@dataclass(frozen=True)
class StepResult:
    """The result of a settled step, as references see it.

    Of a step with `each`, `elements` says how each ended, and `raw` is the list of their results.
    """

    raw: Any
    shows: Shows
    make_file: Callable[[], Mapping[str, Any]]
    """Stores what the step's answer shows as a file, and returns its reference."""
    elements: list[Any] | None = None

    @cached_property
    def file(self) -> Mapping[str, Any]:
        """The reference of the file that the tool has stored; else of one with what the step's answer shows.

        That is stored when it is first referred to.
        """
        stored = self.shows.stored_file(self.raw) if self.elements is None else None
        return stored or self.make_file()

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The projected rows; of a step with `each` those of all its elements together."""
        if self.elements is None:
            return project(self.raw, self.shows)
        return [row for raw in self.raw for row in project(raw, self.shows)]


@dataclass(frozen=True, slots=True)
class EachElement:
    """The value of `${each}`."""

    value: Any


@dataclass(frozen=True, slots=True)
class NoResult:
    """The result of a step that did not succeed: null, and no rows."""


type FindSource = Callable[[str], StepResult | EachElement | NoResult]
"""Return the result that the id of a step, or `each`, stands for."""


def find_references(value: Any, field: str = "params") -> list[Reference]:
    """Return every reference in the value of `field`; UnresolvedReference for one that is malformed."""
    return [
        _parse_match(match, place)
        for place, text in _texts(value, field)
        for match in _REFERENCE.finditer(text)
        if match[1] is not None
    ]


def find_foreign_references(value: Any, ids: Container[str], field: str = "params") -> Iterator[UnresolvedReference]:
    """Yield an error for each string that refers to one of the steps in another notation, such as `{{find.raw}}`."""
    for place, text in _texts(value, field):
        match = _FOREIGN_REFERENCE.fullmatch(text.strip())
        path = match["braced"] or match["plain"] if match else ""
        if (id_ := path.partition(".")[0]) in ids:
            known = f"Write ${{{path}}}."
            yield unresolved_error(Reference(path, place, id_, ()), f"it is written as {text.strip()}", known)


def resolve(value: Any, find: FindSource, field: str = "params") -> Any:
    """Return a value in which every reference is replaced by its value; PayloadTooLarge before it grows too large."""
    return _Resolver(lambda reference: resolve_reference(reference, find)).resolve(value, field)


class _Resolver:
    """Replaces the references of one value, and counts the size of what takes their place."""

    def __init__(self, replacement: Callable[[Reference], Any], limit: int = MAX_RESOLVED_CHARACTERS) -> None:
        self._replacement = replacement
        self._limit = limit
        self._sizes: dict[Reference, int] = {}
        self._characters = 0

    def resolve(self, value: Any, field: str) -> Any:
        return _with_texts(value, field, self._resolved)

    def _resolved(self, text: str, field: str) -> Any:
        match = _REFERENCE.fullmatch(text)
        if match and match[1] is not None:
            return self._value_of(_parse_match(match, field))
        return self._text(text, field)

    def _text(self, text: str, field: str) -> str:
        return _REFERENCE.sub(lambda part: self._text_of(part, field), text)

    def _text_of(self, match: re.Match[str], field: str) -> str:
        if match[1] is None:
            return "${"
        reference = _parse_match(match, field)
        value = self._value_of(reference)
        if value is None:
            raise unresolved_error(reference, "it is null, inside a text", 'Test it first: "when":{"exists":"${...}"}.')
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    def _value_of(self, reference: Reference) -> Any:
        value = self._replacement(reference)
        same = Reference(reference.text, "", reference.step, reference.keys)
        if same not in self._sizes:
            self._sizes[same] = len(value) if isinstance(value, str) else len(json.dumps(value, ensure_ascii=False))
        self._characters += self._sizes[same]
        if self._characters > self._limit:
            raise PayloadTooLarge(field=reference.field, size_bytes=self._characters, limit_bytes=self._limit)
        return value


def rewrite(value: Any, change: Callable[[Reference], Any], field: str = "params") -> Any:
    """Return a value in which what `change` returns stands for each reference, in the language itself: `$${` stays."""
    return _Rewriter(change, MAX_REWRITTEN_CHARACTERS).resolve(value, field)


class _Rewriter(_Resolver):
    def _text(self, text: str, field: str) -> str:
        parts = list[str]()
        for match in _REFERENCE.finditer(text):
            parts.append(match[0] if match[1] is None else self._text_of(match, field))
        known = iter(parts)
        made = _REFERENCE.sub(lambda _: next(known), text)
        # "$" and "{a.b}" from two values would be a reference that nobody has written.
        if _REFERENCE.findall(made) != [found for part in parts for found in _REFERENCE.findall(part)]:
            raise UnresolvedReference(
                field=field,
                reference=text,
                problem="its values would become a reference together",
                known="Give them without $ and { at their ends.",
            )
        return made


def escape(value: Any) -> Any:
    """Return a value whose texts mean themselves in the language: no part of them is a reference."""
    return _with_texts(value, "", lambda text, _: text.replace("${", "$${"))


def _with_texts(value: Any, field: str, change: Callable[[str, str], Any]) -> Any:
    """Return a value with what `change` makes of each text in it, and of the path of the text's field."""
    match value:
        case str():
            return change(value, field)
        case Mapping():
            return {name: _with_texts(inner, f"{field}.{name}", change) for name, inner in value.items()}
        case list():
            return [_with_texts(inner, f"{field}.{index}", change) for index, inner in enumerate(value)]
    return value


def resolve_reference(reference: Reference, find: FindSource) -> Any:
    """Return the value of a reference, or raise UnresolvedReference."""
    match find(reference.step):
        case EachElement(value):
            return _walk(value, reference.keys, reference)
        case NoResult():
            is_list = without_result(reference.keys) in {("items",), ("elements",)}
            return [] if is_list or "*" in reference.keys else None
        case StepResult() as source:
            return _follow_in_result(reference, source)


def without_result(keys: tuple[Key, ...]) -> tuple[Key, ...]:
    """Return the keys of a path without a `result` that only repeats that they are in one."""
    match keys:
        case ("result", "items" | "raw" | "file", *_):
            return keys[1:]
    return keys


def _follow_in_result(reference: Reference, source: StepResult) -> Any:
    match reference.keys if has_key(source.raw, "result") else without_result(reference.keys):
        case ("items", *rest):
            return _walk(source.rows, tuple(rest), reference)
        case ("raw", *rest):
            return _walk(source.raw, tuple(rest), reference)
        case ("elements", *rest) if source.elements is not None:
            return _walk(source.elements, tuple(rest), reference)
        case ("file", *rest):
            return _walk(source.file, tuple(rest), reference)
        case keys:
            return _walk(source.raw, keys, reference)


def _walk(value: Any, keys: tuple[Key, ...], reference: Reference) -> Any:
    for position, key in enumerate(keys):
        if key == "*" and isinstance(value, list):
            return [_walk(item, keys[position + 1 :], reference) for item in value]
        if not has_key(value, key):
            name = f"[{key}]" if isinstance(key, int) or key == "*" else key
            raise unresolved_error(reference, f"there is no {name}", _describe_value(value))
        value = value[key]
    return value


def _describe_value(value: Any) -> str:
    """Return a hint about the value in which the next key of a reference is missing."""
    match value:
        case {}:
            return f"There: {', '.join(list(value)[:_MAX_LISTED_KEYS]) or 'an empty object'}."
        case list():
            return f"There: a list of {len(value)}."
        case _:
            return f"There: {'a text' if isinstance(value, str) else json.dumps(value)}."


def _parse_match(match: re.Match[str], field: str) -> Reference:
    text = match[1]
    shape = _REFERENCE_SYNTAX.fullmatch(text.strip())
    if shape is None or not match[2]:
        known = "Write ${step.path[0].field} with the id of a step, or $${ for a plain ${."
        raise unresolved_error(Reference(text, field, "", ()), "it is not of this form", known)
    return Reference(text, field, shape[1], tuple(path_keys(shape[2])))


def _texts(value: Any, field: str) -> list[tuple[str, str]]:
    """Return every text in a value with the path of its field."""
    found: list[tuple[str, str]] = []
    _with_texts(value, field, lambda text, place: found.append((place, text)))
    return found


def unresolved_error(reference: Reference, problem: str, known: str) -> UnresolvedReference:
    """Return the error for a reference, with what is known about its place."""
    return UnresolvedReference(field=reference.field, reference=reference.text, problem=problem, known=known)
