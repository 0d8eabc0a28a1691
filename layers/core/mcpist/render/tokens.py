"""The tokens of a text, estimated: a tokenizer would cost more than the rendering, and each model has its own."""

CHARACTERS_PER_TOKEN = 4
# The punctuation of JSON shares tokens: a text that is shorter than JSON by less may have more tokens.
SHORTER = 0.95


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a model reads for a text."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def has_fewer_tokens(text: str, as_json: str) -> bool:
    """Whether a text has fewer tokens than JSON of the same values."""
    return len(text) < SHORTER * len(as_json)
