"""The outline: JSON as indented lines, with lists of objects as tables; every value and its path can be read from it.

    {total page size next.cursor}: 2,1,30,x
    items[2]{number user{login id} labels[]{name color} state=open}:
     7,hubot,1,bug|f00;ui|0f0
     8,octocat,2,
    author editor{login url repos_url bio}: ada,https://example.com/users/ada,{url}/repos,"Notes, and a program"
    thanks[]: {author}

`{total page size next.cursor}: 2,1,30,x` are short fields of an object, as the row of a table. The brackets before a
table's columns hold the number of its rows. `user{login id}` are the fields of an object in it, `=` gives a value that
all rows share, and a column with `[]` holds a list, `;` between its elements and `|` between their fields. An object of
few fields is a row by itself, a list of one begins with `[0]`, and fields with the same value share a line.
`{url}/repos` begins with the field `url` of its object or of the nearest one around it; `{author}` is such a field. A
text that could be read as anything else is quoted as in JSON. A value that fits none of this is JSON, and so
is one that is nested deeply.
"""

from collections.abc import Iterator
from itertools import batched
from typing import Any

from mcpist.render.outline_table import Fields, saving_table, single_row
from mcpist.render.outline_texts import ValueReference, are_same, encode, is_plain_cell, is_plain_line, key_of, text_of

INDENT = " "
MAX_INDENT = 16  # characters; what is deeper is JSON, or the margins of many lines could take all memory
MIN_ROW_FIELDS, MAX_ROW_FIELDS = 3, 8  # of an object, in a row
MAX_ROW_TEXT = 80  # characters of a field in such a row
MAX_COMPARED_OBJECTS = 32  # with each other one of the same object
MIN_SAVED_CHARACTERS = 6  # by a reference
MIN_FIELDS = 3  # of an object that is worth a reference
MAX_FOLDERS = 16  # of a URL that are compared with other fields

_CONTAINERS = frozenset({dict, list})
_HOST = len("https://")


def outline(value: Any) -> str:
    """Return the outline of a JSON value."""
    lines: list[str] = []
    value = _with_references(value)
    if isinstance(value, dict):
        _write_object(lines, value, "")
    elif isinstance(value, list):
        _write_list(lines, "", value, "")
    else:
        lines.append(text_of(value, is_plain_line))
    return "\n".join(lines)


def _write_object(lines: list[str], fields: Fields, indent: str) -> None:
    """Write the fields of an object, the short ones as rows before the others."""
    texts = _fields(fields)
    short = [
        name
        for name, text in texts.items()
        if type(text) is str
        and len(text) <= MAX_ROW_TEXT
        and " " not in name  # as it is between names
        and ("," not in text or text[0] == '"')
    ]
    for names in batched(short, MAX_ROW_FIELDS, strict=False):
        if len(names) >= MIN_ROW_FIELDS:
            cells = [texts.pop(name) for name in names]
            lines.append(f"{indent}{{{' '.join(names)}}}: {','.join(cells)}")
    for name, value in texts.items():
        if isinstance(value, str):
            lines.append(f"{indent}{name}: {value}")
        elif len(indent) >= MAX_INDENT:
            lines.append(f"{indent}{name}: {encode(value)}")
        elif isinstance(value, list):
            _write_list(lines, name, value, indent)
        else:
            _write_field(lines, name, value, indent)


def _fields(fields: Fields) -> dict[str, Any]:
    """Return by the names that have it each value: its text, or the list or object that it is."""
    names: dict[str | int, list[str]] = {}
    values: dict[str | int, Any] = {}
    objects: list[tuple[int, Fields]] = []
    for number, (first, field_value) in enumerate(fields.items()):
        name, value = key_of(first), field_value
        key: str | int = number
        if isinstance(value, dict):
            name, value = _only_field(name, value)
        if isinstance(value, dict):
            # Objects cannot be keys, so they are compared one by one, and not too many of them.
            key = next((key for key, known in objects if are_same(known, value)), number)
            if len(objects) < MAX_COMPARED_OBJECTS:
                objects.append((number, value))
        elif not isinstance(value, list):
            key = value = text_of(value, is_plain_line)
        if key in names:
            names[key].append(name)
        else:
            names[key], values[key] = [name], value
    return dict(zip(map(" ".join, names.values()), values.values(), strict=True))


def _only_field(name: str, value: Any) -> tuple[str, Any]:
    """Return the path and the value of the only field of an object, of the object that it is, and so on."""
    while isinstance(value, dict) and len(value) == 1:
        ((inner, value),) = value.items()
        name = f"{name}.{key_of(inner)}"
    return name, value


def _write_field(lines: list[str], name: str, value: Fields, indent: str) -> None:
    """Write an object: a small one as the row of a table, another one as fields below its name."""
    if table := single_row(value):
        lines.append(f"{indent}{name}{table.head}: {next(table.rows, '')}")
        return
    lines.append(f"{indent}{name}:")
    _write_object(lines, value, indent + INDENT)


def _write_list(lines: list[str], name: str, values: list[Any], indent: str) -> None:
    kinds = set(map(type, values))
    if kinds <= {dict, type(None)} and dict in kinds:
        _write_rows(lines, name, values, indent)
    elif kinds.isdisjoint({dict, list}):
        lines.append(f"{indent}{name}[]: {','.join([text_of(value, is_plain_cell) for value in values])}")
    else:
        lines.append(f"{indent}{name}: {encode(values)}" if name else encode(values))


def _write_rows(lines: list[str], name: str, rows: list[Fields | None], indent: str) -> None:
    """Write a list of objects as a table, or one by one where one is large or most of a table would be empty."""
    if len(rows) > 1 and (table := saving_table(rows)):
        lines.append(f"{indent}{name}[{len(rows)}]{table.head}:")
        lines += [f"{indent}{INDENT}{row}" for row in table.rows]
        return
    for number, row in enumerate(rows):
        if row:
            _write_field(lines, f"{name}[{number}]", row, indent)
        else:
            lines.append(f"{indent}{name}[{number}]: {{}}")


def _with_references(value: Any) -> Any:
    """Return JSON with references for URLs that begin with another field, and for objects that are another field."""
    return _Scopes().shortened(value, 0, None) if type(value) in _CONTAINERS else value


class _Scopes:
    """The objects around a value."""

    def __init__(self) -> None:
        self._objects: list[tuple[Fields, dict[Any, str]]] = []
        """Each with the names of its fields by their URL, or by what tells objects apart."""
        self._seen: set[Any] = set()

    def shortened(self, value: Any, depth: int, key: Any) -> Any:
        """Return an object or a list with references in it; the first `depth` objects around it may have its key."""
        if type(value) is dict:
            found = self._find(key, depth) if key and key in self._seen else None
            # Objects with the same key can still differ.
            is_same = found is not None and are_same(found[1], value)
            return ValueReference(f"{{{found[0]}}}", value) if found and is_same else self._shortened_object(value)
        depth = len(self._objects)
        return [self.shortened(one, depth, _key(one)) if type(one) in _CONTAINERS else one for one in value]

    def _shortened_object(self, fields: Fields) -> Fields:
        some = [
            (name, value, _key(value))
            for name, value in fields.items()
            if type(value) in _CONTAINERS or (type(value) is str and value.startswith("http"))
        ]
        if not some:
            return fields
        names = {key: name for name, _, key in reversed(some) if key}
        self._seen.update(names)
        depth, shortened = len(self._objects), dict(fields)
        self._objects.append((fields, names))
        for name, value, key in some:
            shortened[name] = self._find_beginning(value, depth) if key is value else self.shortened(value, depth, key)
        self._objects.pop()
        return shortened

    def _find_beginning(self, url: str, depth: int) -> ValueReference | str:
        """Return a reference to the longest beginning of a URL, or to the same one further outside."""
        seen = self._seen
        for end in _ends(url):
            if url[:end] in seen and (found := self._find(url[:end], depth + (end < len(url)))):
                name = found[0]
                if end >= len(name) + MIN_SAVED_CHARACTERS:
                    return ValueReference(f"{{{name}}}{url[end:]}", url)
        return url

    def _find(self, key: Any, depth: int) -> tuple[str, Any] | None:
        """Return the name and the value of the nearest field with a key, among the first `depth` objects around."""
        for at in range(depth - 1, -1, -1):
            fields, names = self._objects[at]
            if key in names and self._means(names[key], at + 1):
                return names[key], fields[names[key]]
        return None

    def _means(self, name: str, depth: int) -> bool:
        """Whether a reference can have a name, and no object after the first `depth` has a field of it."""
        if depth < len(self._objects) and any(name in fields for fields, _ in self._objects[depth:]):
            return False
        return key_of(name) == name


def _key(value: Any) -> Any:
    """Return the name of a URL or of an object without others in it; None for a value to which nothing refers."""
    if type(value) is str:
        return value
    if type(value) is list or len(value) < MIN_FIELDS or not _CONTAINERS.isdisjoint(map(type, value.values())):
        return None
    return len(value), next(iter(value.values()))


def _ends(url: str) -> Iterator[int]:
    """Yield where beginnings of a URL end: the whole, its path, the path without an ending, folders of it."""
    end = len(url)
    yield end
    for mark in "{?#":
        if (at := url.find(mark, _HOST, end)) > 0:
            end = at
            yield end
    folder, root = url.rfind("/", _HOST, end), url.find("/", _HOST)
    if (dot := url.rfind(".", folder, end)) > 0:
        yield dot
    for _ in range(MAX_FOLDERS):
        if folder <= root:
            break
        yield folder
        folder = url.rfind("/", _HOST, folder)
