"""Patterns that callers write: RE2's syntax, matched in linear time, so that no pattern can hold a sandbox."""

from functools import lru_cache
from typing import Any, Protocol

from mcpist.errors import InvalidRequest

MAX_PATTERN_CHARACTERS = 1_000
MAX_PATTERN_MEMORY_BYTES = 8 << 20
MAX_CACHED_PATTERNS = 64


class Pattern(Protocol):
    """A compiled pattern; its methods are those of `re.Pattern`."""

    def search(self, text: str) -> Any:
        """Return the first match in a text, or None."""

    def fullmatch(self, text: str) -> Any:
        """Return the match of a whole text, or None."""


def compile_pattern(pattern: str, field: str = "pattern") -> Pattern:
    """Return a compiled pattern; InvalidRequest names the field and what is wrong with its text."""
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        raise InvalidRequest(field=field, problem=f"it has more than {MAX_PATTERN_CHARACTERS} characters")
    try:
        return _compile(pattern)
    except (ValueError, UnicodeError) as error:
        raise InvalidRequest(field=field, problem=f"it is no RE2 pattern: {error}") from None


@lru_cache(MAX_CACHED_PATTERNS)
def _compile(pattern: str) -> Pattern:
    import re2  # only a caller with a pattern waits for the library

    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_PATTERN_MEMORY_BYTES
    try:
        compiled: Pattern = re2.compile(pattern, options)
    except re2.error as error:
        (text,) = error.args
        raise ValueError(text.decode(errors="replace") if isinstance(text, bytes) else str(text)) from None
    return compiled
