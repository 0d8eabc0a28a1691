"""The names that were perhaps meant by one that does not exist."""

from collections.abc import Iterable
from difflib import get_close_matches

MIN_RESEMBLANCE = 0.5
NONE = "none"
"""Stands for the names where there are none."""


def nearest(word: str, words: Iterable[str], most: int = 5) -> str:
    """Return the words that were perhaps meant, nearest first, and how many more there are, as text for a hint.

    The parts of a word (`notes.read` of `notes`) are nearer than any other.
    """
    words = list(words)
    parts = [other for other in words if other.startswith(f"{word}.")][:most]
    shown = parts or get_close_matches(word, words, n=most, cutoff=MIN_RESEMBLANCE) or words[:most]
    more = len(words) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "") or NONE


def closest(word: str, words: Iterable[str]) -> str:
    """Return the word that is nearest; empty where none is near."""
    return next(iter(get_close_matches(word, words, n=1, cutoff=MIN_RESEMBLANCE)), "")


def resembling(word: str, words: Iterable[str]) -> str:
    """Return `: did you mean x?` with the word that is nearest, as the end of a problem; empty where none is near."""
    near = closest(word, words)
    return f": did you mean {near}?" if near else ""
