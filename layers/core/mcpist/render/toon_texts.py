"""The texts of TOON and of our additions: values and names, in quotes where they could be read as anything else."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from json.encoder import encode_basestring
from math import isfinite
from typing import Any

MAX_KNOWN_KEYS = 10_000
MIN_PLAIN, MAX_PLAIN = 1e-6, 1e21  # the numbers that TOON writes without an exponent

type IsPlain = Callable[[str], object]
"""Tells texts that need no quotes in some place; it takes literals, too."""

_CONSTANTS = {None: "null", True: "true", False: "false"}
# Control characters, and what some readers take for the end of a line.
_BREAKS = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
_LITERAL_STARTS = frozenset("tfn+-0123456789")
_is_literal = re.compile(r"true|false|null|[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?").fullmatch
_is_plain_key = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*").fullmatch
_ESCAPE, _has_other_escapes = re.compile(r"\\."), re.compile(r"[\x08\x0c]").search
_is_plain_name = re.compile(r"[\w@$][\w@$/+.-]*").fullmatch


@dataclass(slots=True)  # frozen costs twice the time
class ValueReference:
    """A value that a field of its object, or of the nearest around it, begins or is: `{url}/comments`, `{user}`."""

    text: str
    value: Any


def _value_of(reference: ValueReference) -> Any:
    """Return the value of a reference, where JSON is written."""
    return reference.value


encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_value_of).encode


def quote(text: str) -> str:
    """Return a text in quotes, with the escapes of JSON that TOON has."""
    quoted: str = encode_basestring(text)
    return _ESCAPE.sub(_in_toon, quoted) if _has_other_escapes(text) else quoted


def _in_toon(escape: re.Match[str]) -> str:
    """Return an escape of JSON as TOON has it."""
    return {"\\b": "\\u0008", "\\f": "\\u000c"}.get(escape[0], escape[0])


def _plain(excluded: str, begins: str) -> IsPlain:
    """Return the pattern of texts without some characters, that do not begin with some and do not end with a space."""
    return re.compile(rf"(?![\s{begins}])[^{_BREAKS}{excluded}]*[^{_BREAKS}{excluded}\s]").fullmatch


is_plain_cell = _plain(r':"\\\[\]{},', r"\-#")
"""Tells texts that TOON writes without quotes."""
_MARKS = r'"\[{'  # what texts in quotes and references begin with
is_plain_in_row, is_plain_element = _plain(",", _MARKS), _plain(";|", _MARKS)
_is_plain_reference = _plain(r',:;|"', "")


def text_of(value: Any, is_plain: IsPlain) -> str:
    """Return a value as it is written where texts that `is_plain` takes need no quotes."""
    kind = type(value)
    if kind is str:
        if not is_plain(value) or (value[0] in _LITERAL_STARTS and _is_literal(value)):
            return quote(value)
        return value  # type: ignore[no-any-return]
    if kind is int:
        return repr(value)
    if value is None or kind is bool:
        return _CONSTANTS[value]
    if kind is float:
        return _number(value)
    if kind is ValueReference:
        return value.text if _is_plain_reference(value.text) else text_of(value.value, is_plain)
    raise TypeError(value)


def _number(value: float) -> str:
    """Return a number in TOON's canonical form."""
    if not isfinite(value):
        return "null"
    if value.is_integer() and abs(value) < MAX_PLAIN:
        return str(int(value))
    text = repr(value)
    if "e" not in text:
        return text
    if abs(value) >= MIN_PLAIN:
        return f"{Decimal(text):f}" if abs(value) < MAX_PLAIN else text
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}"


@lru_cache(MAX_KNOWN_KEYS)
def key_of(name: str) -> str:
    """Return a field's name as TOON writes it."""
    return name if _is_plain_key(name) else quote(name)


@lru_cache(MAX_KNOWN_KEYS)
def is_plain_name(name: str) -> bool:
    """Whether a name may stand between others."""
    return _is_plain_name(name) is not None


def are_same(first: Any, second: Any) -> bool:
    """Whether two values are the same JSON: 1, 1.0 and true are equal in Python."""
    return bool(first == second) and repr(first) == repr(second)
