"""The texts of the pages: one folder a language, one file an area, the same keys in both.

`t("profile.title")` is the text `title` of the area `profile`; fields are in braces.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from mcpist.errors import Locale
from mcpist.memory import cached

AREAS = (
    *("frame", "error", "done", "connect", "home", "profile"),
    *("batches", "tools", "files", "organization", "users", "roles", "logs", "modules", "join"),
)
LANGUAGES: dict[Locale, str] = {"en": "english", "ja": "japanese"}


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of one language."""

    language: Locale
    texts: dict[str, str]

    def __call__(self, key: str, /, **fields: Any) -> str:
        """Return a text with its fields filled."""
        return self.texts[key].format(**fields)

    def __contains__(self, key: str) -> bool:
        """Whether there is such a text."""
        return key in self.texts


@cached
def texts(language: Locale) -> Texts:
    """Return the texts of a language."""
    package = f"{__name__}.{LANGUAGES[language]}"
    areas = {area: import_module(f"{package}.{area}").TEXTS for area in AREAS}
    return Texts(language, {f"{area}.{key}": text for area, found in areas.items() for key, text in found.items()})
