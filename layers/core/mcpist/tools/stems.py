"""Stems: the words of a text, in the form that all forms of a word have in common."""

import re
from functools import cache
from typing import Any

_CONTRACTION = re.compile(r"(?<=[A-Za-z])['\u2019](?:d|ll|m|re|s|t|ve)\b", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]+|[0-9]+|[^\x00-\x7f]+")
_STOP_WORDS = frozenset(
    _WORD.findall(
        "a an all and any are as at be by can do does for from get has have how i if in into is it its me my of on "
        "or our so some that the their them then there they this to up us was we what when where which who will with "
        "you your"
    )
)


def stems(text: str) -> list[str]:
    """Return the stems of a text's words, without stop words.

    Text without spaces between words is divided into pairs of characters.
    """
    words = [part for word in _WORD.findall(_CONTRACTION.sub("", text)) for part in _parts(word)]
    stemmed: list[str] = _stemmer().stemWords([word for word in words if word not in _STOP_WORDS])
    return stemmed


def _parts(word: str) -> list[str]:
    if word.isascii() or len(word) < 3:
        return [word.lower()]
    return [word[start : start + 2] for start in range(len(word) - 1)]


@cache
def _stemmer() -> Any:
    from Stemmer import Stemmer

    return Stemmer("english")
