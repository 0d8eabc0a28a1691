"""TOON, and the compact answers that are TOON with additions: https://toonformat.dev.

    {total page next{cursor}}: 2,1,x
    items*{state repository{name}}: in review,mcpist
    items[3]{number,user{login,id},labels(name color)}:
      7,hubot,1,bug|f00;ui|0f0
      8,octocat,2,
      9,hubot,1,
    author editor{login url repos_url bio}: ada,https://example.com/users/ada,{url}/repos,"Notes, and a program"
    thanks[1]: {author}
    {}: {"grid":[[1,2],[3,4]]}

A plain table is TOON to the letter. TOON reads each addition as a name and a text: `{total page next{cursor}}` and
`author{login url}` are fields and their values in order, `items*` gives the fields that are the same in all rows of
`items`, a name with `(...)` holds a list, `;` between its elements and `|` between their fields, and fields of the same
value share a line. A text without quotes that begins with `{url}` begins with the field `url` of its object or of the
nearest one around it; `{author}` is such a field, as is the second of two long texts of a row. `{}: {...}` has the
other fields of its object as JSON. An empty cell is no value. A list that is the whole answer is the field `items`, as
references call it. `render.read` reads it all.
"""

from itertools import batched
from typing import Any

from mcpist.render.references import Fields, with_references
from mcpist.render.toon_row import list_cell, single_row
from mcpist.render.toon_table import saving_table
from mcpist.render.toon_texts import (
    ValueReference,
    are_same,
    encode,
    is_plain_cell,
    is_plain_in_row,
    is_plain_name,
    key_of,
    text_of,
)

LIST_NAME, JSON_NAME, SHARED = "items", "{}", "*"
INDENT = "  "
MAX_INDENT = 16  # characters; what is deeper is JSON, or the margins of many lines could take all memory
MIN_ROW_FIELDS, MAX_ROW_FIELDS = 2, 10  # of an object, in a row
MAX_ROW_TEXT = 120  # characters of a field in such a row
MAX_COMPARED_OBJECTS = 32  # with each other one of the same object

_CONTAINERS, _OBJECTS = frozenset({dict, list}), frozenset({dict, ValueReference})


def toon(value: Any) -> str:
    """Return a JSON value as TOON without additions."""
    return _text(value, _Writer())


def compact_toon(value: Any) -> str:
    """Return a JSON value as TOON with the additions that make it short."""
    return _text(with_references(value), _CompactWriter())


def _text(value: Any, writer: "_Writer") -> str:
    if isinstance(value, list):
        value = {LIST_NAME: value}
    if not isinstance(value, dict):
        return text_of(value, is_plain_cell)
    writer.write_fields(value, "")
    return "\n".join(writer.lines)


class _Writer:
    """The lines of TOON."""

    is_pure = True

    def __init__(self) -> None:
        self.lines: list[str] = []

    def write_fields(self, fields: Fields, indent: str) -> None:
        """Write the fields of an object."""
        for name, value in fields.items():
            self._write_field(key_of(name), value, indent)

    def _write_field(self, name: str, value: Any, indent: str) -> None:
        if isinstance(value, list):
            self._write_list(name, value, indent)
        elif isinstance(value, dict):
            self._write_object(name, value, indent)
        else:
            self.lines.append(f"{indent}{name}: {text_of(value, is_plain_cell)}")

    def _write_object(self, name: str, value: Fields, indent: str) -> None:
        self.lines.append(f"{indent}{name}:")
        self.write_fields(value, indent + INDENT)

    def _write_list(self, name: str, values: list[Any], indent: str) -> None:
        kinds = set(map(type, values))
        if not kinds and name != "- ":
            self.lines.append(f"{indent}{name}: []")
        elif kinds.isdisjoint(_CONTAINERS):
            self.lines.append(f"{indent}{name}{_inline(values)}")
        elif not kinds <= _OBJECTS or name == "- " or not self._write_table(name, values, indent):
            self.lines.append(f"{indent}{name}[{len(values)}]:")
            for value in values:
                self._write_item(value, indent + INDENT)

    def _write_table(self, name: str, values: list[Any], indent: str) -> bool:
        """Write a list of objects as a table, if it is one."""
        rows = [value.value if type(value) is ValueReference else value for value in values]
        table = saving_table(rows, is_pure=self.is_pure, can_share=is_plain_name(name))
        if table is None:
            return False
        if table.shared:
            self._write_object(f"{name}{SHARED}", table.shared, indent)
        self.lines.append(f"{indent}{name}[{len(rows)}]{table.head}:")
        self.lines += [f"{indent}{INDENT}{row}" for row in table.rows]
        return True

    def _write_item(self, value: Any, indent: str) -> None:
        if isinstance(value, dict):
            first = len(self.lines)
            self.write_fields(value, indent + INDENT)
            rest = self.lines[first].removeprefix(indent + INDENT) if value else ""
            self.lines[first : first + 1] = [f"{indent}- {rest}".rstrip(" ")]
        elif isinstance(value, list):
            self._write_list("- ", value, indent)
        else:
            self.lines.append(f"{indent}- {text_of(value, is_plain_cell)}")


class _CompactWriter(_Writer):
    """The lines of TOON with additions."""

    is_pure = False

    def write_fields(self, fields: Fields, indent: str) -> None:
        """Write the fields of an object, the short ones as rows before the others."""
        groups, as_json = _groups(fields, indent)
        short = [
            key
            for key, (names, cell, _, _) in groups.items()
            if cell and len(cell) <= MAX_ROW_TEXT and len(names) == 1  # as one name is between others
        ]
        for keys in batched(short, MAX_ROW_FIELDS, strict=False):
            row = [groups[key] for key in keys]
            if _begins_quoted(row[0]):  # TOON would read the row as one text in quotes, and a mistake
                row.sort(key=_begins_quoted)
            if len(row) >= MIN_ROW_FIELDS and not _begins_quoted(row[0]):
                heads = " ".join([names[0] + suffix for names, _, suffix, _ in row])
                self.lines.append(f"{indent}{{{heads}}}: {','.join([cell for _, cell, _, _ in row])}")
                for key in keys:
                    del groups[key]
        for names, cell, _, value in groups.values():
            if cell and len(names) > 1:
                self.lines.append(f"{indent}{' '.join(names)}: {cell}")
            else:
                self._write_field(" ".join(names), value, indent)
        if as_json:
            self.lines.append(f"{indent}{JSON_NAME}: {encode(as_json)}")

    def _write_object(self, name: str, value: Fields, indent: str) -> None:
        """Write an object: a small one as a row beside its name, another one as lines below it."""
        row = single_row(value) if name[0] != '"' else None
        if row:
            self.lines.append(f"{indent}{name}{row}")
        else:
            super()._write_object(name, value, indent)

    def _write_item(self, value: Any, indent: str) -> None:
        row = single_row(value) if isinstance(value, dict) else None
        if row:
            self.lines.append(f"{indent}- {row}")
        else:
            super()._write_item(value, indent)


def _inline(values: list[Any]) -> str:
    return f"[{len(values)}]:{' ' if values else ''}{','.join([text_of(value, is_plain_cell) for value in values])}"


type _Group = tuple[list[str], str, str, Any]
"""The names of the fields with a value, its cell in a row (empty if it has none), the end of its name there, and it."""


def _begins_quoted(group: _Group) -> bool:
    return group[1][0] == '"'


def _groups(fields: Fields, indent: str) -> tuple[dict[str | int, _Group], dict[str, Any]]:
    """Return the different values, each with its names; and the values that are JSON."""
    groups: dict[str | int, _Group] = {}
    objects: list[tuple[int, Fields]] = []
    as_json: dict[str, Any] = {}
    for number, (first, field_value) in enumerate(fields.items()):
        name, value = first, field_value
        kind = type(value)
        key: str | int = number
        text = suffix = ""
        if kind not in _CONTAINERS and is_plain_name(name):
            key = text = text_of(value, is_plain_in_row)
        elif kind in _CONTAINERS and (len(indent) >= MAX_INDENT or (kind is list and not _has_lines(value))):
            as_json[name] = value
            continue
        elif not is_plain_name(name):
            name = key_of(name)
        elif kind is list:
            suffix, text = list_cell(value, may_be_table=not indent)
        else:
            name, value = _only_field(name, value)
            if type(value) is not dict:
                key = text = text_of(value, is_plain_in_row)
            else:
                # Objects cannot be keys, so they are compared one by one, and not too many of them.
                key = next((key for key, known in objects if are_same(known, value)), number)
                if len(objects) < MAX_COMPARED_OBJECTS:
                    objects.append((number, value))
        if key in groups:
            groups[key][0].append(name)
        else:
            groups[key] = [name], text, suffix, value
    return groups, as_json


def _has_lines(value: list[Any]) -> bool:
    """Whether a list can be written as lines: not one of lists, nor of objects and others."""
    kinds = set(map(type, value))
    return kinds <= _OBJECTS or kinds.isdisjoint(_CONTAINERS)


def _only_field(name: str, value: Any) -> tuple[str, Any]:
    """Return the name and the value of the only field of an object, of the object that it is, and so on."""
    depth = 0
    while isinstance(value, dict) and len(value) == 1:
        ((inner, nested),) = value.items()
        if not is_plain_name(inner) or isinstance(nested, list):
            break
        name, value, depth = f"{name}{{{inner}", nested, depth + 1
    return name + "}" * depth, value
