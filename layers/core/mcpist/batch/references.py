"""References: `${step.path[0].field}` in the params of a step.

The first word of the path chooses: `items` the projected rows, `raw` the service's JSON, `file` the file of a large
result, and any other word the service's JSON too. A string that is one reference becomes the value itself; references
inside a longer string become text; `$${` stands for a plain `${`. Values are put in once: a result that looks like a
reference stays text.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mcpist.errors import UnresolvedReference
from mcpist.render.project import project
from mcpist.render.shows import Shows, has, steps
from mcpist.tools.catalogue import nearest

_REFERENCE = re.compile(r"\$\$\{|\$\{([^{}]*)(\}?)")
_SHAPE = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*)((?:\.[^.\[\]]+|\[(?:[0-9]{1,9}|\*)\])*)")
_MOST_KNOWN = 20

type Key = str | int


@dataclass(frozen=True, slots=True)
class Reference:
    """A place in another step's result; `field` is the param it stands in."""

    text: str
    field: str
    step: str
    keys: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """What a settled step brought, as references see it."""

    raw: Any
    shows: Shows
    file: Mapping[str, Any] | None = None

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The projected rows."""
        return project(self.raw, self.shows)


def references(params: Mapping[str, Any]) -> list[Reference]:
    """Every reference in the params; UnresolvedReference for one that is not well formed."""
    return [
        _parse(match, field)
        for field, text in _strings(params, "")
        for match in _REFERENCE.finditer(text)
        if match[1] is not None
    ]


def check(reference: Reference, shows: Shows) -> None:
    """Refuse, before anything runs, a reference to a column that the step's tool does not show."""
    if not reference.keys or reference.keys[0] != "items":
        return
    columns = [key for key in reference.keys[1:] if isinstance(key, str) and key != "*"]
    if columns and not shows.knows(columns[0]):
        problem = f"{reference.step} shows no column {columns[0]}"
        raise _unresolved(reference, problem, f"Columns: {nearest(columns[0], shows.fields)}.")
    if columns and reference.keys[1] == columns[0]:
        raise _unresolved(reference, "items is a list", f"Write {reference.step}.items[0].{columns[0]}.")


def resolve(params: Any, result: Callable[[str], Result], field: str = "") -> Any:
    """The params with every reference replaced by its value."""
    if isinstance(params, dict):
        return {name: resolve(value, result, _join(field, name)) for name, value in params.items()}
    if isinstance(params, list):
        return [resolve(value, result, _join(field, index)) for index, value in enumerate(params)]
    if not isinstance(params, str):
        return params
    whole = _REFERENCE.fullmatch(params)
    if whole and whole[1] is not None:
        return find(_parse(whole, field), result)
    return _REFERENCE.sub(lambda match: _text(match, field, result), params)


def find(reference: Reference, result: Callable[[str], Result]) -> Any:
    """The value that a reference leads to, or UnresolvedReference."""
    source = result(reference.step)
    match reference.keys:
        case ():
            return source.raw
        case ("items", *rest):
            return _walk(source.rows, tuple(rest), reference)
        case ("raw", *rest):
            return _walk(source.raw, tuple(rest), reference)
        case ("file", *rest):
            if source.file is None:
                hint = f"Write {reference.step}.items or {reference.step}.raw."
                raise _unresolved(reference, "the result is small and in no file", hint)
            return _walk(source.file, tuple(rest), reference)
        case keys:
            return _walk(source.raw, keys, reference)


def _walk(value: Any, keys: tuple[Key, ...], reference: Reference) -> Any:
    for position, key in enumerate(keys):
        if key == "*" and isinstance(value, list):
            return [_walk(item, keys[position + 1 :], reference) for item in value]
        if not has(value, key):
            raise _unresolved(reference, f"there is no {_shown(key)}", _there(value))
        value = value[key]
    return value


def _there(value: Any) -> str:
    """What is in the place where a reference ends too soon."""
    match value:
        case {}:
            return f"There: {', '.join(list(value)[:_MOST_KNOWN]) or 'an empty object'}."
        case list():
            return f"There: a list of {len(value)}."
        case _:
            return f"There: {'a text' if isinstance(value, str) else json.dumps(value)}."


def _shown(key: Key) -> str:
    return f"[{key}]" if isinstance(key, int) or key == "*" else key


def _text(match: re.Match[str], field: str, result: Callable[[str], Result]) -> str:
    if match[1] is None:
        return "${"
    value = find(_parse(match, field), result)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _parse(match: re.Match[str], field: str) -> Reference:
    text = match[1]
    shape = _SHAPE.fullmatch(text.strip())
    if shape is None or not match[2]:
        known = "Write ${step.path[0].field} with the id of a step, or $${ for a plain ${."
        raise _unresolved(Reference(text, field, "", ()), "it is not of this form", known)
    return Reference(text, field, shape[1], tuple(steps(shape[2])))


def _strings(value: Any, field: str) -> Iterator[tuple[str, str]]:
    """Every string in the params with the field it stands in."""
    if isinstance(value, str):
        yield field, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _strings(inner, _join(field, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _strings(inner, _join(field, index))


def _join(field: str, name: str | int) -> str:
    return f"{field}.{name}" if field else str(name)


def _unresolved(reference: Reference, problem: str, known: str) -> UnresolvedReference:
    return UnresolvedReference(
        field=f"params.{reference.field}", reference=reference.text, problem=problem, known=known
    )
