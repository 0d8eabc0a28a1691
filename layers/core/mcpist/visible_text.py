"""Text from outside, made safe to show: invisible and control characters become visible."""

import re
import unicodedata

# Marks that belong to writing, with the characters they follow: joiners of emoji and scripts, emoji variants.
_JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f")
_MISPLACED_JOINER = re.compile("(?<![^\x00-\x7f\u200c\u200d])[\u200c\u200d]|(?<=[\ufe0e\ufe0f])[\ufe0e\ufe0f]")
# Letters and marks without a glyph.
_BLANK_CHARACTER = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0d\uffa0\U000e0100-\U000e01ef]"
)
_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})


def hidden_characters(text: str) -> set[str]:
    """Return the invisible characters of a text: directions, tags, zero widths, blanks, private ones."""
    if text.isascii() and text.isprintable():
        return set()
    invisible = (
        {letter for letter in text if unicodedata.category(letter) in _INVISIBLE_CATEGORIES} - {*"\n\r\t"} - _JOINERS
    )
    return invisible | {*_MISPLACED_JOINER.findall(text), *_BLANK_CHARACTER.findall(text)}


def visible(text: str, *, lines: bool = False) -> str:
    r"""Return a text in which no character can add a line, turn the direction or steer a terminal.

    Such characters are written as `\u{1B}`; with `lines` line breaks and tabs stay.
    """
    if text.isascii() and text.isprintable():
        return text
    hidden = hidden_characters(text) | (set() if lines else {*"\n\r\t"} & set(text))
    return "".join(f"\\u{{{ord(letter):02X}}}" if letter in hidden else letter for letter in text)
