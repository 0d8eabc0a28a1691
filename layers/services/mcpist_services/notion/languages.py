"""The languages of Notion's code blocks, by the names that people write after a fence."""

from mcpist.toml_table import toml_beside

PLAIN = "plain text"


def language_of(name: str) -> str:
    """Return Notion's name of a language; plain text for one that it does not know."""
    table = toml_beside(__file__, "languages.toml")
    for word in (name.strip().lower(), name.strip().lower().partition(" ")[0]):
        if language := word if word in table["names"] else table["aliases"].get(word):
            return str(language)
    return PLAIN
