"""The texts of the console's pages."""

from pathlib import Path

from mcpist.errors import Locale
from mcpist.http.texts import Texts, read_texts

LOCALES = Path(__file__).parent / "locales"


def texts(language: Locale) -> Texts:
    """Return the texts of a language."""
    return read_texts(LOCALES, language)
