"""JSON with comments and trailing commas, as people and clients write configurations."""

import json
import re
from typing import Any

_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\\n]|\\.)*")|,(?=\s*[}\]])')


def read(text: str) -> Any:
    """Parse a text; raises ValueError with line and column if it is invalid or repeats a key."""
    return json.loads(_without_comments(text), object_pairs_hook=_reject_duplicate_keys)


def _without_comments(text: str) -> str:
    """Replace comments by as many spaces, so that positions stay."""
    without = _STRING_OR_COMMENT.sub(
        lambda found: found[0] if found[0][0] == '"' else re.sub(r"\S", " ", found[0]), text
    )
    return _TRAILING_COMMA.sub(lambda found: found[1] or " ", without).removeprefix("\ufeff")


def _reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f'"{key}" stands twice in one object')
        found[key] = value
    return found
