"""Where a run of `*`, `_` or `~` may open or close a mark: CommonMark's flanking rules, eased for East Asian text.

Reference: https://spec.commonmark.org/0.31.2/#emphasis-and-strong-emphasis. By it the second `**` of `**「強調」**する`
closes nothing, since Japanese sets no spaces. So wide punctuation counts as a letter here, and a wide character beside
a mark as a space; for `_`, which opens nothing inside a word, nothing changes.
"""

import unicodedata

# What Markdown trims at the ends of a block. Not str.isspace: that knows control characters which Markdown keeps.
SPACES = (
    "\t\n\v\f\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


def opens(delimiter: str, before: str, after: str) -> bool:
    """Whether a run of this delimiter between these two characters may open a mark; a line's ends are spaces."""
    eased = delimiter[0] != "_"
    if not _is_flanking(before, after, eased=eased):
        return False
    return eased or _is_punctuation(before) or not _is_flanking(after, before, eased=False)


def closes(delimiter: str, before: str, after: str) -> bool:
    """Whether a run of this delimiter between these two characters may close a mark: what opens, in a mirror."""
    return opens(delimiter, after, before)


def _is_flanking(outside: str, inside: str, *, eased: bool) -> bool:
    """CommonMark's left-flanking (and, in a mirror, right-flanking)."""
    if inside in SPACES:
        return False
    if not _is_punctuation(inside) or (eased and _is_wide(inside)):
        return True
    return outside in SPACES or _is_punctuation(outside) or (eased and _is_wide(outside))


def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WFH"
