"""The texts of an outline: values and names, quoted as in JSON where they could be read as anything else."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any

MAX_KNOWN_KEYS = 10_000

type IsPlain = Callable[[str], object]
"""Tells texts that need no quotes in some place of an outline; it takes literals, too."""

quote: Callable[[str], str] = encode_basestring
_CONSTANTS = {None: "null", True: "true", False: "false"}
# Control characters, and what some readers take for the end of a line.
_BREAKS = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
_LITERAL_STARTS = frozenset("tfn-0123456789")
_is_literal = re.compile(r"true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?").fullmatch
_is_plain_key = re.compile(r"[^\W\d][\w@$/+-]*").fullmatch


@dataclass(slots=True)  # frozen costs twice the time
class ValueReference:
    """A value that a field of its object, or of the nearest around it, begins or is: `{url}/comments`, `{user}`."""

    text: str
    value: Any


def _value_of(reference: ValueReference) -> Any:
    """Return the value of a reference, where an outline holds JSON."""
    return reference.value


encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_value_of).encode


def _plain(ends: str) -> IsPlain:
    """Return the pattern of texts that need no quotes where some characters would end them."""
    return re.compile(rf'(?![\s"\[{{])[^{_BREAKS}{ends}]*[^{_BREAKS}{ends}\s]').fullmatch


is_plain_line, is_plain_cell, is_plain_element = _plain(""), _plain(","), _plain(",;|")
# A pair of braces has no separator in it: it would be of two elements.
is_plain_head = re.compile(r"(?:\{[^{}\s;|]*\}|[^{}\s])*").fullmatch


def text_of(value: Any, is_plain: IsPlain) -> str:
    """Return a value as it is written where texts that `is_plain` takes need no quotes."""
    if isinstance(value, str):
        is_quoted = not is_plain(value) or (value[0] in _LITERAL_STARTS and _is_literal(value))
        return quote(value) if is_quoted else value
    if value is None or isinstance(value, bool):
        return _CONSTANTS[value]
    if isinstance(value, int):
        return repr(value)
    if isinstance(value, ValueReference):
        return value.text if is_plain(value.text[1:]) else text_of(value.value, is_plain)
    return encode(value)


@lru_cache(MAX_KNOWN_KEYS)
def key_of(name: str) -> str:
    """Return a field's name as it is written."""
    return name if _is_plain_key(name) else quote(name)


def are_same(first: Any, second: Any) -> bool:
    """Whether two values are the same JSON: 1, 1.0 and true are equal in Python."""
    return bool(first == second) and repr(first) == repr(second)
