"""The tokens of a text, estimated: a tokenizer would cost more than the rendering, and each model has its own."""

import re

CHARACTERS_PER_TOKEN = 4
MAX_COUNTED_CHARACTERS = 1_500
# The punctuation of JSON shares tokens: a text that is shorter than JSON by less may have more tokens.
CLEARLY_SHORTER = 0.85
PROBABLY_SHORTER = 0.9
FEWER_PIECES = 0.97

# Where tokenizers divide a text before they look at their vocabulary; longer words have several tokens.
_PIECE = re.compile(r"[^\r\n\w]?[^\W\d_]{1,8}|\d{1,3}| ?[^\s\w]+\n*|_|\s*\n|\s+(?!\S)|\s+")


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a model reads for a text."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def has_fewer_tokens(text: str, as_json: str) -> bool:
    """Whether a text has fewer tokens than JSON of the same values; where lengths leave doubt, pieces are counted."""
    share = len(text) / len(as_json)
    if CLEARLY_SHORTER < share < 1 and len(as_json) <= MAX_COUNTED_CHARACTERS:
        return _count_pieces(text) < FEWER_PIECES * _count_pieces(as_json)
    return share < PROBABLY_SHORTER


def _count_pieces(text: str) -> int:
    return _PIECE.subn("", text)[1]
