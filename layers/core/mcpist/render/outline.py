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

from itertools import batched
from typing import Any

from mcpist.render.outline_references import with_references
from mcpist.render.outline_table import Fields, saving_table, single_row
from mcpist.render.outline_texts import are_same, encode, is_plain_cell, is_plain_line, key_of, text_of

INDENT = " "
MAX_INDENT = 16  # characters; what is deeper is JSON, or the margins of many lines could take all memory
MIN_ROW_FIELDS, MAX_ROW_FIELDS = 3, 8  # of an object, in a row
MAX_ROW_TEXT = 80  # characters of a field in such a row
MAX_COMPARED_OBJECTS = 32  # with each other one of the same object


def outline(value: Any) -> str:
    """Return the outline of a JSON value."""
    lines: list[str] = []
    value = with_references(value)
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
