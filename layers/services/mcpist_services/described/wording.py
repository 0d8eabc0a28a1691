"""Wording: words of names and texts, in the forms that tools' names and descriptions need."""

import re
from collections.abc import Collection
from functools import cache

from mcpist.toml_table import toml_beside

_WORD = re.compile(r"[A-Z]{2,}s?(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_MARKUP = re.compile(r"\[([^\[\]]*)\]\([^)\[]*\)|<[^<>]*>|[`*]")
_SENTENCE_END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)\.(\s|$)|\n\s*\n")
_IRREGULAR = {"people": "person", "children": "child", "indices": "index", "statuses": "status", "aliases": "alias"}


def listed(text: str) -> frozenset[str]:
    """Return the words of a text that lists them."""
    return frozenset(text.split())


_INVARIANT = listed(
    "status series news media data metadata code content info analytics address access process progress https "
    "kubernetes aws cms dns gps sms tls"
)


def word_lists(table: str) -> dict[str, str]:
    """Return the words of a table of `words.toml`, which an import alone needs."""
    lists: dict[str, str] = toml_beside(__file__, "words.toml")[table]
    return lists


@cache
def actions() -> frozenset[str]:
    """Return the verbs that operations are known to do."""
    verbs = word_lists("verbs")
    return listed(word_lists("names")["other_verbs"]).union(verbs, *(given.split() for given in verbs.values()))


def base_verb(word: str, known: Collection[str]) -> str:
    """Return a verb without its ending, `list` of `lists`, where that is known; else the word."""
    return next((one for end in ("", "s", "es") if (one := word.removesuffix(end)) in known), word)


def words(text: str) -> list[str]:
    """Return the words of a name or a text in small letters, also of one in camel case."""
    return [word.lower() for word in _WORD.findall(text.replace("'s ", " "))]


def singular(word: str) -> str:
    """Return a noun without its plural's ending."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word in _INVARIANT or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if len(word) < 4 and (len(word) < 3 or word[-2] in "aeiou"):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("ches", "shes", "sses", "xes")) else word[:-1]


def plural(word: str) -> str:
    """Return a noun with its plural's ending."""
    if word in _INVARIANT or singular(word) != word:
        return word
    if word.endswith("y") and word[-2:-1] not in {"a", "e", "i", "o", "u", ""}:
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("ch", "sh", "s", "x")) else f"{word}s"


def plain(text: str) -> str:
    """Return a text in one line, without Markdown's and HTML's marks."""
    return " ".join(_MARKUP.sub(r"\1", text).split())


def first_sentence(text: str, limit: int) -> str:
    """Return the first sentence of a text in one line; it is cut between words where it is longer than the limit."""
    end = _SENTENCE_END.search(text)
    sentence = plain(text[: end.start()] if end else text)
    if len(sentence) <= limit:
        return sentence
    return f"{sentence[: limit - 1].rpartition(' ')[0]}…"


def sentence(text: str) -> str:
    """Return a text with the full stop of a sentence, unless it is cut."""
    return text if not text or text.endswith("…") else f"{text.rstrip('.')}."
