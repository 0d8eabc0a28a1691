"""Statements for MySQL: values that nothing breaks out of, and the check that a query is nothing else.

A read-only transaction is not enough: MariaDB 10.11 carries out `drop table` in one, since that ends it. So a query is
known by its first word, which must come after nothing but what every server takes for a comment.
Reference: https://dev.mysql.com/doc/refman/8.4/en/comments.html
"""

import math
import re

from mcpist_services.sql.stream import ServerError

# Comments that are carried out, or that lift limits: a value that looks like one is for a parameter.
_ACTIVE_COMMENT = re.compile(r"/\*(?:M?!|\+)")
_SPACE = r"[\x00-\x20\x7f]"
_COMMENT = rf"(?>/\*.*?\*/)|(?:--(?={_SPACE})|\#)[^\n]*+"
_FLAGS = re.IGNORECASE | re.DOTALL | re.ASCII
_BEGINS_AS_QUERY = re.compile(rf"(?:{_SPACE}|\(|{_COMMENT})*+(?:select|with|values|table)\b", _FLAGS)
_NO_CODE = re.compile(rf"""'(?:[^'\\]|\\.|'')*+'|"(?:[^"\\]|\\.|"")*+"|`[^`]*+`|{_COMMENT}""", _FLAGS)
# A number ends where a word begins, e.g. in `1.5into`.
_NO_READING = re.compile(
    r"(?<![a-z_$])(into|load_file|get_lock|for\s+(?:update|share)|lock\s+in\s+share\s+mode)\b", _FLAGS
)
type Value = str | int | float | bool | None


def check_query(sql: str) -> None:
    """Raise ServerError unless a statement is a query that takes no lock and writes no file."""
    if _ACTIVE_COMMENT.search(sql):
        raise ServerError("it has a comment that is carried out (/*!, /*M! or /*+): leave it out")
    if not _BEGINS_AS_QUERY.match(sql):
        raise ServerError("it begins with none of select, with, values and table", "read only")
    if found := _NO_READING.search(_NO_CODE.sub(" ", sql)):
        raise ServerError(f"a query has no {' '.join(found[1].split())}", "read only")


def command_of(sql: str) -> str:
    """Return the first word of a statement, e.g. `UPDATE`."""
    found = re.search(r"\w+", _NO_CODE.sub(" ", sql))
    return found[0].upper() if found else ""


def literal(value: Value) -> str:
    """Return a value as SQL: a text as digits of its bytes, which no character of it can end."""
    if isinstance(value, str):
        return f"convert(x'{value.encode().hex()}' using utf8mb4)"
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ServerError("a parameter is no finite number")
        return f"{value:.16e}"
    return "null" if value is None else str(value)
