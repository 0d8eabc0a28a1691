"""The texts of pages: a TOML file a language, a table an area, the same keys and fields in both.

`t("profile.title")` is the text `title` of the area `profile`; fields are in braces. `KEY_one` is the text where the
number in it is 1.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcpist.errors import Locale
from mcpist.memory import cached
from mcpist.toml_table import read_toml

NUMBERS = ("count", "days", "total", "all", "steps")
"""The fields that decide between the text of one and that of several; the first that a text has."""


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of one language."""

    language: Locale
    texts: dict[str, str]

    def __call__(self, key: str, /, **fields: Any) -> str:
        """Return a text with its fields filled."""
        number = next((fields[name] for name in NUMBERS if name in fields), None)
        single = self.texts.get(f"{key}_one") if number == 1 else None
        return (single or self.texts[key]).format(**fields)

    def __contains__(self, key: str) -> bool:
        """Whether there is such a text."""
        return key in self.texts


@cached
def read_texts(folder: Path, language: Locale) -> Texts:
    """Return the texts of one language from the folder of its file."""
    # The whole file at once: 3 to 6 ms of a cold start, too little to read single areas.
    areas = read_toml(folder / f"{language}.toml")
    return Texts(language, {f"{area}.{key}": text for area, found in areas.items() for key, text in found.items()})
