"""Synonyms: what people say, in English and Japanese, and the catalogue's words for it.

A line is `what they say, or that, or that: the catalogue's words`. The longest phrase wins, and each part of a query is
read once. In a phrase, `0` stands for any number and `ABC` for any capitals: `ABC-0` is a key such as ENG-42.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from string import ascii_lowercase

from mcpist.tools.search.words import shared_synonyms

MAX_CACHED_TABLES = 8
START_CHARACTERS = 3  # by which phrases are looked up

_LETTERS = frozenset(ascii_lowercase)

_FORM = re.compile(r"((?<!\d)0(?!\d)|abc)")
_FORMS = {"0": r"\d+", "abc": "[A-Z][A-Z0-9]+"}


class Synonyms:
    """The synonyms that hold for all modules, and those of some modules, given as lines."""

    def __init__(self, lines: str) -> None:
        self._words: dict[str, str] = {}
        for line in filter(None, f"{shared_synonyms()}{lines}".splitlines()):
            phrases, _, words = line.rpartition(": ")
            for phrase in phrases.lower().split(", "):
                self._words[phrase] = f"{self._words[phrase]} {words}" if phrase in self._words else words
        self._forms = [
            (re.compile(_form_pattern(phrase)), words) for phrase, words in self._words.items() if _FORM.search(phrase)
        ]
        self._by_start: dict[str, list[str]] = defaultdict(list)
        for phrase in sorted(self._words, key=len, reverse=True):
            self._by_start[phrase[:START_CHARACTERS]].append(phrase)

    def find(self, query: str) -> list[tuple[str, str]]:
        """Return the phrases in a query, each with the catalogue's words for it."""
        found = [(phrase, self._words[phrase.lower()]) for phrase in self._phrases(query)]
        forms = ((form.search(query), words) for form, words in self._forms)
        return found + [(match[0], words) for match, words in forms if match]

    def _phrases(self, query: str) -> Iterator[str]:
        """Yield the longest phrase at each place of a query that no phrase before it takes."""
        text = "".join(map(_lower, query))
        place = 0
        while place < len(text):
            starts = (text[place : place + length] for length in range(START_CHARACTERS, 0, -1))
            phrases = (phrase for start in starts for phrase in self._by_start.get(start, ()))
            phrase = next((phrase for phrase in phrases if _is_at(text, place, phrase)), "")
            if phrase:
                yield query[place : place + len(phrase)]
            place += len(phrase) or 1


synonyms = lru_cache(MAX_CACHED_TABLES)(Synonyms)


def _lower(character: str) -> str:
    lower = character.lower()
    return lower if len(lower) == 1 else character


def _is_at(text: str, place: int, phrase: str) -> bool:
    """Return whether a phrase is at a place; one in Latin letters is found as whole words only."""
    end = place + len(phrase)
    return text.startswith(phrase, place) and not (
        phrase.isascii() and (text[place - 1 : place] in _LETTERS or text[end : end + 1] in _LETTERS)
    )


def _form_pattern(phrase: str) -> str:
    """Return a pattern for a phrase with a number or capitals in it."""
    pattern = "".join(_FORMS.get(part, re.escape(part)) for part in _FORM.split(phrase))
    return rf"(?<![A-Za-z0-9-]){pattern}(?![A-Za-z0-9-])" if phrase.isascii() else pattern
