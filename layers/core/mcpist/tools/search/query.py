"""A task as a query: the stems of its words and of their synonyms, with a weight for each."""

import re
from collections.abc import Iterator
from functools import cache, reduce
from string import ascii_lowercase
from typing import Any

from mcpist.tools.search.synonyms import synonyms

OWN_WEIGHT = 1.0  # of a query's own words
SYNONYM_WEIGHT = 0.8
IDIOM_WEIGHT = 0.3  # the words of an idiom, such as "file a", mean what it means
QUOTED_WEIGHT = 0.4  # text that the task only names or writes says little of the tool
PLURAL_WEIGHT = 0.4  # a query that names several things asks for a list of them
MAX_QUERY_CHARACTERS = 1000
MAX_NEEDS, MIN_NEED_STEMS = 8, 2
MIN_MISSPELT_LETTERS = 5  # a shorter word is one letter from too many others

_PLURAL = re.compile(r"\b(?!does\b|this\b|says\b)[a-z]{2,}[^su\W\d_]s\b")
_FILE = re.compile(r"\w\.(?:css|csv|html?|js|json|md|py|sql|toml|ts|txt|ya?ml)\b", re.IGNORECASE)
# Names and text in a task: a capitalized name ends with the capitals, a text that is said ends with its quotation.
_QUOTED = re.compile(
    r"\b(?:called|named|titled)(?: [A-Z][\w.-]*)+|\b(?:saying|that says) [^\"'].*|'[^']{3,}'|\"[^\"]+\"|「[^」]+」"
)
_SENTENCE_END = r"(?<=[.?!])\s+|[;\n。]+"
# Where a query's next need begins: finely, and for a query that would have too many by its sentences.
_BOUNDARIES = (
    re.compile(rf"{_SENTENCE_END}|,?\s+(?i:and|then|also|after that|as well as|finally)\b,?"),
    re.compile(_SENTENCE_END),
)
_WRITE_STEMS = frozenset(("add", "creat", "delet", "move", "remov", "updat", "merg", "run"))


def needs(query: str) -> list[str]:
    """Return the parts of a query that asks for several things; none if it asks for one."""
    parts: list[str] = []
    for boundary in _BOUNDARIES:
        parts = [part for part in boundary.split(_encodable(query)) if len(stems(part)) >= MIN_NEED_STEMS]
        if len(parts) <= MAX_NEEDS:
            break
    return parts[:MAX_NEEDS] if len(parts) > 1 else []


def query_weights(query: str, synonym_lines: str = "") -> dict[str, float]:
    """Return the stems that a query asks for and the weight of each.

    Its own words count fully, synonyms less, what it quotes and the words of idioms least.
    """
    query = _encodable(query)
    task = _QUOTED.sub(" ", query).strip() or query
    own = stems(task)
    found = synonyms(synonym_lines).find(task)
    idioms = [phrase for phrase, _ in found if " " in phrase]
    meant = stems(" ".join([*(words for _, words in found), *(["file"] if _FILE.search(task) else [])]))
    several = stems("list search") if _PLURAL.search(task) and not _WRITE_STEMS.intersection(own + meant) else []
    weights: dict[str, float] = {}
    for weight, group in (
        (QUOTED_WEIGHT, stems(query)),
        (PLURAL_WEIGHT, several),
        (IDIOM_WEIGHT, stems(" ".join(idioms))),
        (SYNONYM_WEIGHT, meant),
        (OWN_WEIGHT, stems(reduce(lambda rest, idiom: rest.replace(idiom, " "), idioms, task))),
    ):
        weights |= dict.fromkeys(group, weight)
    return weights


def respellings(stem: str) -> Iterator[str]:
    """Yield the stems that a misspelt one may mean: with a letter more, less or different, or two letters swapped."""
    if len(stem) < MIN_MISSPELT_LETTERS or not (stem.isascii() and stem.isalpha()):
        return
    for place in range(len(stem) + 1):
        start, rest = stem[:place], stem[place:]
        yield from (start + rest[1:], start + rest[1:2] + rest[:1] + rest[2:])
        for letter in ascii_lowercase:
            yield from (start + letter + rest, start + letter + rest[1:])


def _encodable(query: str) -> str:
    return query[:MAX_QUERY_CHARACTERS].encode(errors="replace").decode()


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
