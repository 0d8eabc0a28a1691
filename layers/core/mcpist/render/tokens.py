"""The tokens of a text, estimated: a tokenizer would cost more than the rendering, and each model has its own."""

CHARACTERS_PER_TOKEN = 4


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a model reads for a text."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)
