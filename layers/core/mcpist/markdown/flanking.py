"""Where a run of `*`, `_` or `~` may open or close a mark: CommonMark's flanking rules, adapted to East Asian text.

Reference: https://spec.commonmark.org/0.31.2/#emphasis-and-strong-emphasis. By these rules the second `**` of
`**「強調」**する` closes nothing, since Japanese has no spaces. So wide punctuation counts as a letter here, and a wide
character beside a mark as a space. `_`, which opens nothing inside a word, follows the standard rules.
"""

import unicodedata

# The characters that Markdown trims at the ends of a block; str.isspace includes control characters that it keeps.
SPACES = (
    "\t\n\v\f\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


def opens(delimiter: str, before: str, after: str) -> bool:
    """Whether a run of this delimiter between these two characters may open a mark; a line's end counts as a space."""
    eased = delimiter[0] != "_"
    if not _is_flanking(before, after, eased=eased):
        return False
    return eased or _is_punctuation(before) or not _is_flanking(after, before, eased=False)


def closes(delimiter: str, before: str, after: str) -> bool:
    """Whether a run of this delimiter between these two characters may close a mark: the mirror of `opens`."""
    return opens(delimiter, after, before)


def _is_flanking(outside: str, inside: str, *, eased: bool) -> bool:
    """Whether a delimiter is left-flanking by CommonMark (with the characters swapped: right-flanking)."""
    if inside in SPACES:
        return False
    if not _is_punctuation(inside) or (eased and _is_wide(inside)):
        return True
    return outside in SPACES or _is_punctuation(outside) or (eased and _is_wide(outside))


def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WFH"
