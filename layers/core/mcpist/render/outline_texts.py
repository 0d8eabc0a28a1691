"""The texts of an outline: values and names, quoted as in JSON where they could be read as anything else."""

import json
import re
from collections.abc import Callable
from functools import lru_cache
from json.encoder import encode_basestring as quote
from typing import Any

MAX_KNOWN_KEYS = 10_000

type IsPlain = Callable[[str], object]
"""Tells texts that need no quotes in some place of an outline; it takes literals, too."""

_CONSTANTS = {None: "null", True: "true", False: "false"}
_LITERAL_STARTS = frozenset("tfn-0123456789")
_is_literal = re.compile(r"true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?").fullmatch
_is_plain_key = re.compile(r"[^\W\d](?:[\w @$/+-]*[\w@$/+-])?").fullmatch
encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _plain(ends: str) -> IsPlain:
    """Return what tells texts that need no quotes where some characters would end them."""
    return re.compile(rf'(?![\s"\[{{])[^\x00-\x1f{ends}]*[^\x00-\x1f{ends}\s]').fullmatch


is_plain_line, is_plain_cell, is_plain_element = _plain(""), _plain(","), _plain(",;|}")


def text_of(value: Any, is_plain: IsPlain) -> str:
    """Return a value as it is written where texts that `is_plain` takes need no quotes."""
    if isinstance(value, str):
        is_quoted = not is_plain(value) or (value[0] in _LITERAL_STARTS and _is_literal(value))
        return quote(value) if is_quoted else value
    if value is None or isinstance(value, bool):
        return _CONSTANTS[value]
    return repr(value) if isinstance(value, int) else encode(value)


@lru_cache(MAX_KNOWN_KEYS)
def key_of(name: str) -> str:
    """Return a field's name as it is written."""
    return name if _is_plain_key(name) else quote(name)
