"""The names that were perhaps meant by one that does not exist."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, words: Iterable[str], most: int = 5) -> str:
    """Return the words that were perhaps meant, nearest first, and how many more there are, as text for a hint."""
    words = list(words)
    shown = get_close_matches(word, words, n=most, cutoff=0.5) or words[:most]
    more = len(words) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "") or "none"
